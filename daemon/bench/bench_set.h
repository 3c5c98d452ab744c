/* SPDX-License-Identifier: MIT */
/* What a benchmark is asked for: one operation, or all of a family. Runs nothing. */
#ifndef KP_DAEMON_BENCH_SET_H
#define KP_DAEMON_BENCH_SET_H

#include "daemon/bench/bench_plan.h"

/*
 * As bench_plan_make; where the parameters' operation is a family ("gemm"), a plan for
 * each of its operations that has kernels (and, where kernels are named, one of those),
 * in byte order, each the `next` of the one before. Zero the plan; it is to be
 * finished in any case.
 */
int bench_set_make(struct bench_plan *plan, const struct kp_table *table,
	const struct kp_registry *registry, const struct kp_families *families,
	const json_t *parameters, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
