/* SPDX-License-Identifier: MIT */
/* From the id of a kernel to what a worker needs of it. Of bench_rows.c only. */
#ifndef KP_DAEMON_BENCH_SOURCE_H
#define KP_DAEMON_BENCH_SOURCE_H

#include "daemon/bench/bench_plan.h"

/* Without `stored` where the plugin has nothing that could be run. Code no_memory. */
int bench_source_find(struct bench_source *source, const struct kp_registry *registry,
	const char *id, struct kp_diag *diag) __attribute__((warn_unused_result));
void bench_source_finish(struct bench_source *source);

#endif
