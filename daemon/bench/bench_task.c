/* SPDX-License-Identifier: MIT */
/* Jobs of workers that run kernels, and the task of a benchmark. */
#include "daemon/bench/bench_task.h"

#include <string.h>

#include "daemon/bench/bench_run.h"

enum {
	SAMPLING = 12, /* times time_s: 10 at most for samples, and the warm-up */
	DEVICE_MS = 20000,
	KEPT = 400000, /* samples in a whole reply, if each row has KEPT_LEAST */
	KEPT_LEAST = 32,
};

unsigned bench_rounds(const struct bench_plan *plan)
{
	bool has_rounds = !plan->task || plan->task->keep;

	return has_rounds && plan->rounds > 0 ? plan->rounds : 1;
}

/* So many that they are told in one reply, whatever the number of rows. */
static size_t kept(const struct bench_plan *plan)
{
	size_t most = plan->n_rows > 0 ? KEPT / plan->n_rows : BENCH_KEPT;

	most = most < KEPT_LEAST ? KEPT_LEAST : most > BENCH_KEPT ? BENCH_KEPT : most;
	return most / bench_rounds(plan) > 0 ? most / bench_rounds(plan) : 1;
}

static json_t *more(const struct bench_plan *plan, const struct bench_row *row)
{
	(void)row;
	return json_pack("{s:f, s:i, s:I, s:i}", "time_s",
		plan->time_s / bench_rounds(plan), "rounds", (int)bench_rounds(plan),
		"keep", (json_int_t)kept(plan), "threads",
		(int)(plan->threads > 0 ? plan->threads : 1));
}

json_t *bench_job_json(const struct bench_plan *plan, const struct bench_row *row,
	const char *task, const struct bench_source *source)
{
	const struct bench_task *what = plan->task;
	json_t *job = json_pack(
		"{s:s, s:s, s:s, s:s, s:O?, s:O, s:s, s:O, s:O, s:I, s:f, s:O?}", "kind",
		what->kind, "task", task, "stored", source->stored, "kernel",
		strchr(source->id, '/') + 1, "config", source->config, "family",
		plan->family->root, "signature", plan->signature, "shape",
		json_array_get(plan->shapes, row->shape), "attributes", plan->attributes,
		"seed", plan->seed, "time_s", plan->time_s, "device",
		source == &row->source ? row->device : NULL);
	json_t *more = what->more ? what->more(plan, row) : json_object();
	bool complete = json_object_update(job, more) == 0;

	json_decref(more);
	if (complete)
		return job;
	json_decref(job);
	return NULL;
}

double bench_start_ms(const struct bench_row *row)
{
	return row->source.timeout_ms + (json_is_object(row->device) ? DEVICE_MS : 0);
}

/*
 * Time to load and start, to take the samples, and for as many
 * calls of a slow kernel as checks and warm-up need.
 */
static double timeout_ms(
	const struct bench_plan *plan, const struct bench_row *row, double call_ms)
{
	return bench_start_ms(row) + 1e3 * SAMPLING * plan->time_s / bench_rounds(plan) +
	       BENCH_SLOWNESS * call_ms;
}

const struct bench_task bench_measuring = {
	.kind = "bench",
	.more = more,
	.timeout_ms = timeout_ms,
	.keep = bench_run_keep,
	.compare = bench_run_compare,
	.run = bench_run_json,
};
