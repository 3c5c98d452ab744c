/* SPDX-License-Identifier: MIT */
/*
 * Calls over the rows of tensors: what form their elements have, and how rows are
 * shared among threads. Knows no operation. A header alone, since what is inlined is
 * made for one width of registers.
 */
#ifndef X86_ROWS_H
#define X86_ROWS_H

#include "kplug/plugin.h"
#include "vector.h"

#if defined(__x86_64__)

/*
 * A call with fewer bytes stays on its thread; a task has about TASK_BYTES. An output
 * of STREAM_BYTES and more would not stay in the last cache: it is written past it.
 * That size is fixed: what a virtual machine tells of its last cache may be another's.
 */
enum { PARALLEL_BYTES = 256 << 10, TASK_BYTES = 128 << 10, STREAM_BYTES = 24 << 20 };

/* The rows of a tensor; steps count bytes. */
struct plane {
	char *data;
	int64_t row_step, step;
};

/* One tensor of rank 2, or of rank 1 as its only row. */
static inline struct plane plane_of(const struct kp_tensor *tensor)
{
	int64_t bytes = tensor->dtype.bits / 8;
	int row = tensor->ndim - 1;
	struct plane plane = {.data = tensor->data,
		.row_step = row > 0 ? tensor->strides[0] * bytes : 0,
		.step = tensor->strides[row] * bytes};

	return plane;
}

static inline struct line plane_row(struct plane plane, int64_t i)
{
	struct line line = {plane.data + i * plane.row_step, plane.step};

	return line;
}

static inline int is_f32(struct kp_dtype dtype)
{
	return dtype.code == KP_CODE_FLOAT && dtype.bits == 32 && dtype.lanes == 1;
}

static inline int is_bf16(struct kp_dtype dtype)
{
	return dtype.code == KP_CODE_BFLOAT && dtype.bits == 16 && dtype.lanes == 1;
}

/*
 * The form that `count` tensors have in common, absent ones left out: dense where the
 * last dim of each lies next to itself. Negative, and told, where they have none.
 */
static inline int rows_form(
	const struct kp_tensor *const *tensors, uint32_t count, struct kp_error *error)
{
	int f32 = 1, bf16 = 1, dense = 1;

	for (uint32_t i = 0; i < count; i++) {
		const struct kp_tensor *tensor = tensors[i];

		if (!tensor)
			continue;
		f32 &= is_f32(tensor->dtype);
		bf16 &= is_bf16(tensor->dtype);
		dense &= tensor->strides[tensor->ndim - 1] == 1;
	}
	if (f32)
		return dense ? F32_DENSE : F32_SPREAD;
	if (bf16)
		return dense ? BF16_DENSE : BF16_SPREAD;
	(void)processor_fail(error, KP_UNSUPPORTED,
		"the tensors of one call are all f32 or all bf16 here");
	return -1;
}

/*
 * The threads of the host where it lends some and the work is worth it. What a task
 * computes must not depend on who runs it.
 */
static inline int rows_share(const struct kp_call *call, int64_t bytes, int64_t tasks,
	int (*task)(void *arg, uint64_t i), void *arg)
{
	const struct kp_host *host = call->host;
	int status = KP_OK;

	if (host && KP_COVERS(host, parallel_for) && host->parallel_for && tasks > 1 &&
		bytes >= PARALLEL_BYTES)
		return host->parallel_for(host->context, (uint64_t)tasks, task, arg);
	for (int64_t i = 0; i < tasks && status == KP_OK; i++)
		status = task(arg, (uint64_t)i);
	return status;
}

/* Rows that make a task, and tasks that make all rows. */
static inline int64_t rows_of_task(int64_t row_bytes)
{
	return row_bytes > 0 && row_bytes < TASK_BYTES ? TASK_BYTES / row_bytes : 1;
}

static inline int64_t tasks_of_rows(int64_t rows, int64_t rows_of_one)
{
	return rows / rows_of_one + (rows % rows_of_one > 0);
}

/*
 * Makes body(arg, i, form) into a task for each form, body##_tasks[form]. Streamed
 * stores are seen by others only after a fence.
 */
#define FORM_TASK(body, name, form)                                                      \
	VECTOR static int body##_##name(void *arg, uint64_t i)                           \
	{                                                                                \
		body(arg, (int64_t)i, form);                                             \
		_mm_sfence();                                                            \
		return KP_OK;                                                            \
	}
#define FORM_TASKS(body)                                                                 \
	FORM_TASK(body, f32_dense, F32_DENSE)                                            \
	FORM_TASK(body, bf16_dense, BF16_DENSE)                                          \
	FORM_TASK(body, f32_spread, F32_SPREAD)                                          \
	FORM_TASK(body, bf16_spread, BF16_SPREAD)                                        \
	static int (*const body##_tasks[])(void *arg, uint64_t i) = {body##_f32_dense,   \
		body##_bf16_dense, body##_f32_spread, body##_bf16_spread}

#endif
#endif
