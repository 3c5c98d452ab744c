/* SPDX-License-Identifier: MIT */
/*
 * Operations on each element by itself, of one input or two. Rows that lie behind
 * each other are taken as one. Knows no operation: it is a function that makes a pair
 * of the output from one of each input.
 */
#ifndef X86_ELEMENTWISE_H
#define X86_ELEMENTWISE_H

#include "rows.h"

#if defined(__x86_64__)

enum { ELEMENTWISE_INPUTS = 2 };

/* Elements of a task, a multiple of every step. */
enum { ELEMENTWISE_TASK = 32 << 10 };

struct elementwise {
	struct plane in[ELEMENTWISE_INPUTS], out;
	int64_t rows, n, tasks_of_row;
	int streamed;
};

/* Do the rows of a tensor lie behind each other? */
static inline int is_gapless(const struct plane *plane, int64_t rows, int64_t n)
{
	return rows == 1 || plane->row_step == n * plane->step;
}

/* The first `inputs` tensors of the call, and the output after them. */
static inline struct elementwise elementwise_of(const struct kp_call *call, int inputs)
{
	const struct kp_tensor *out = call->tensors[inputs];
	struct elementwise job = {.out = plane_of(out),
		.rows = out->ndim > 1 ? out->shape[0] : 1,
		.n = out->shape[out->ndim - 1]};
	int gapless = is_gapless(&job.out, job.rows, job.n), alias = 0;
	int64_t bytes = job.rows * job.n * out->dtype.bits / 8;

	for (int i = 0; i < inputs; i++) {
		job.in[i] = plane_of(call->tensors[i]);
		gapless &= is_gapless(&job.in[i], job.rows, job.n);
		alias |= job.in[i].data == job.out.data;
	}
	if (gapless) {
		job.n *= job.rows;
		job.rows = job.rows > 0;
	}
	job.tasks_of_row = tasks_of_rows(job.n, ELEMENTWISE_TASK);
	job.streamed = !alias && bytes >= STREAM_BYTES;
	return job;
}

static inline int elementwise_run(const struct kp_call *call, int inputs,
	struct elementwise *job, int (*task)(void *arg, uint64_t i))
{
	int64_t bytes = job->rows * job->n * (inputs + 1) *
			(call->tensors[inputs]->dtype.bits / 8);

	return rows_share(call, bytes, job->rows * job->tasks_of_row, task, job);
}

/* A part of a row; with one input `in[1]` is that input again. */
struct part {
	struct line in[ELEMENTWISE_INPUTS], out;
	int64_t n;
};

static inline struct line elementwise_line(
	const struct elementwise *job, struct plane plane, int64_t task)
{
	struct line line = plane_row(plane, task / job->tasks_of_row);

	line.data += task % job->tasks_of_row * ELEMENTWISE_TASK * line.step;
	return line;
}

static inline struct part elementwise_part(
	const struct elementwise *job, int64_t task, int inputs)
{
	int64_t left = job->n - task % job->tasks_of_row * ELEMENTWISE_TASK;
	struct part part = {.in = {elementwise_line(job, job->in[0], task),
				    elementwise_line(job, job->in[inputs - 1], task)},
		.out = elementwise_line(job, job->out, task),
		.n = left < ELEMENTWISE_TASK ? left : ELEMENTWISE_TASK};

	return part;
}

/* Pairs that are computed side by side: one alone would wait for its own results. */
enum { SIDE_BY_SIDE = 2 };

/* Makes the output of `count` pairs from a and b, in a. */
typedef void compute_pairs(
	struct pair *a, const struct pair *b, int count, enum form form);

VECTOR INLINE void compute_some(const struct part *part, int64_t i, int64_t count,
	enum form form, int inputs, compute_pairs *compute)
{
	struct pair a = line_load_part(part->in[0], i, count, form, 0), b = a;

	if (inputs > 1)
		b = line_load_part(part->in[1], i, count, form, 0);
	compute(&a, &b, 1, form);
	line_store_part(part->out, i, count, a, form);
}

VECTOR INLINE void compute_whole(const struct part *part, int64_t i, enum form form,
	int streamed, int inputs, compute_pairs *compute)
{
	struct pair a[SIDE_BY_SIDE], b[SIDE_BY_SIDE];

#pragma GCC unroll 2
	for (int k = 0; k < SIDE_BY_SIDE; k++) {
		a[k] = line_load(part->in[0], i + k * STEP, form);
		b[k] = inputs > 1 ? line_load(part->in[1], i + k * STEP, form) : a[k];
	}
	compute(a, b, SIDE_BY_SIDE, form);
#pragma GCC unroll 2
	for (int k = 0; k < SIDE_BY_SIDE; k++)
		line_store(part->out, i + k * STEP, a[k], form, streamed);
}

VECTOR INLINE void compute_line(const struct part *part, enum form form, int streamed,
	int inputs, compute_pairs *compute)
{
	int64_t i = streamed ? line_before_aligned(part->out, part->n, form) : 0;

	for (int64_t done = 0; done < i; done += STEP)
		compute_some(part, done, i - done < STEP ? i - done : STEP, form, inputs,
			compute);
	for (; i + SIDE_BY_SIDE * STEP <= part->n; i += SIDE_BY_SIDE * STEP)
		compute_whole(part, i, form, streamed, inputs, compute);
	for (; i < part->n; i += STEP)
		compute_some(part, i, part->n - i < STEP ? part->n - i : STEP, form,
			inputs, compute);
}

/* Task number `task` of a call. */
VECTOR INLINE void elementwise_do(const struct elementwise *job, int64_t task,
	enum form form, int inputs, compute_pairs *compute)
{
	struct part part = elementwise_part(job, task, inputs);

	if (form == form_dense(form) && job->streamed)
		compute_line(&part, form, 1, inputs, compute);
	else
		compute_line(&part, form, 0, inputs, compute);
}

#endif
#endif
