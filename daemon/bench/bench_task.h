/* SPDX-License-Identifier: MIT */
/* What is done with the rows of a plan: they are measured, or verified. Pure. */
#ifndef KP_DAEMON_BENCH_TASK_H
#define KP_DAEMON_BENCH_TASK_H

#include <jansson.h>

#include "daemon/bench/bench_plan.h"
#include "lib/plugin/supervisor.h"

enum {
	BENCH_SLOWNESS = 50
}; /* a kernel may be so many times slower than the reference
    */

/* What a worker has said by its end; each an object, if nothing else is said, or NULL.
 */
struct bench_words {
	const json_t *report, *fault;
	const json_t *at; /* the case that it began last: only a verification has several
			   */
	const json_t *samples; /* an array: times of a benchmark, in picoseconds */
};

struct bench_task {
	const char *kind; /* of the worker's job */
	/* Further members of its job; NULL: none. Returns NULL for memory. */
	json_t *(*more)(const struct bench_plan *plan, const struct bench_row *row);
	/* How long it may take, where a call of the reference takes so long. */
	double (*timeout_ms)(const struct bench_plan *plan, const struct bench_row *row,
		double call_ms);
	/*
	 * A round has ended, and others may follow: was it right, and is it kept in the
	 * row? NULL: there is one round.
	 */
	bool (*keep)(const struct bench_plan *plan, struct bench_row *row,
		const struct bench_words *words, const struct kp_worker_result *result);
	/* All rows of a shape are done: what is said of one beside others. Or NULL. */
	void (*compare)(struct bench_row *rows, size_t count);
	/* What becomes of the row: the result is NULL where it was not run. */
	json_t *(*run)(const struct bench_plan *plan, const struct bench_row *row,
		const struct bench_words *words, const struct kp_worker_result *result);
};

/* A benchmark: bench_run.h. */
extern const struct bench_task bench_measuring;

/* Rounds of a plan: 1 where its task has no more. */
unsigned bench_rounds(const struct bench_plan *plan);

/* To load and start (the manifest's), and for a GPU to get a context and many inputs. */
double bench_start_ms(const struct bench_row *row);

/*
 * The job of a worker that does `task` ("reference", or what the row is for) for a row
 * with a kernel. A new reference, NULL when memory is exhausted.
 */
json_t *bench_job_json(const struct bench_plan *plan, const struct bench_row *row,
	const char *task, const struct bench_source *source);

#endif
