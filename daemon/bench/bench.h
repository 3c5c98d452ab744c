/* SPDX-License-Identifier: MIT */
/*
 * A benchmark under way: does the rows of a plan one after the other, each in a
 * worker of its own, so that nothing of ours runs beside what is measured. Knows
 * no client.
 */
#ifndef KP_DAEMON_BENCH_H
#define KP_DAEMON_BENCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "daemon/bench/bench_plan.h"
#include "daemon/pipeline/pool.h"

struct bench;

struct bench_events {
	/* Before a row is done, and again before it is measured: may it be?
	 * bench_plan_look. */
	void (*look)(void *context, struct bench_plan *plan, size_t row);
	/* A row begins: `done` of `total` are finished. */
	void (*begins)(void *context, const char *kernel, size_t done, size_t total);
	/* A row is finished: the Run of the interface, borrowed. */
	void (*row)(void *context, const json_t *run);
	/*
	 * All rows are finished, or it was cancelled. runs is an array, borrowed; diag is
	 * NULL, or says why it ended early. The bench is gone afterwards.
	 */
	void (*ended)(void *context, const json_t *runs, const struct kp_diag *diag);
	void *context;
};

/*
 * Takes over the content of the plan, also on failure. Events come later, in the
 * loop thread. NULL when memory is exhausted.
 */
struct bench *bench_start(uv_loop_t *loop, struct pool *pool, struct bench_plan *plan,
	const struct bench_events *events);
/* Kills what runs; `ended` comes, and nothing else. */
void bench_cancel(struct bench *bench);
bool bench_is_cancelled(const struct bench *bench);

#endif
