/* SPDX-License-Identifier: MIT */
/* What the reference has computed for the shape under way. Starts no worker. */
#ifndef KP_DAEMON_BENCH_REFERENCE_H
#define KP_DAEMON_BENCH_REFERENCE_H

#include "daemon/bench/bench_plan.h"
#include "lib/plugin/supervisor.h"

enum { BENCH_REFERENCE_MS = 120000 }; /* plain C on the largest shapes takes its time */

struct bench_reference {
	size_t shape; /* or SIZE_MAX */
	int results;  /* sealed, readable only; -1: there are none */
	int writing;  /* the same, while they are written */
	double call_ms;
};

void bench_reference_init(struct bench_reference *reference);
void bench_reference_drop(struct bench_reference *reference);

/*
 * Forgets what there was, the plan's trouble included; `writing` is for a worker then.
 * -1 with errno.
 */
int bench_reference_open(struct bench_reference *reference, struct bench_plan *plan)
	__attribute__((warn_unused_result));

/* A worker has ended that computed this shape: results, or the plan's trouble. */
void bench_reference_keep(struct bench_reference *reference, struct bench_plan *plan,
	size_t shape, const json_t *report, const struct kp_worker_result *result);

#endif
