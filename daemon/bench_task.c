/* SPDX-License-Identifier: MIT */
/* Jobs of workers that run kernels, and the task of a benchmark. */
#include "daemon/bench_task.h"

#include <string.h>

#include "daemon/bench_run.h"

enum { SAMPLING = 12 }; /* times time_s: 10 at most for samples, and the warm-up */

json_t *bench_job_json(const struct bench_plan *plan, const struct bench_row *row,
	const char *task, const struct bench_source *source)
{
	const struct bench_task *what = plan->task;
	json_t *job =
		json_pack("{s:s, s:s, s:s, s:s, s:O?, s:O, s:s, s:O, s:O, s:I, s:f}",
			"kind", what->kind, "task", task, "stored", source->stored,
			"kernel", strchr(source->id, '/') + 1, "config", source->config,
			"family", plan->family->root, "signature", plan->signature,
			"shape", json_array_get(plan->shapes, row->shape), "attributes",
			plan->attributes, "seed", plan->seed, "time_s", plan->time_s);
	json_t *more = what->more ? what->more(plan, row) : json_object();
	bool complete = json_object_update(job, more) == 0;

	json_decref(more);
	if (complete)
		return job;
	json_decref(job);
	return NULL;
}

/*
 * Time to load and start (the manifest's), to take the samples, and for as many
 * calls of a slow kernel as checks and warm-up need.
 */
static double timeout_ms(
	const struct bench_plan *plan, const struct bench_row *row, double call_ms)
{
	return row->source.timeout_ms + 1e3 * SAMPLING * plan->time_s +
	       BENCH_SLOWNESS * call_ms;
}

static json_t *run_json(const struct bench_plan *plan, const struct bench_row *row,
	const struct bench_words *words, const struct kp_worker_result *result)
{
	return bench_run_json(plan, row, words->report, words->fault, result);
}

const struct bench_task bench_measuring = {
	.kind = "bench", .timeout_ms = timeout_ms, .run = run_json};
