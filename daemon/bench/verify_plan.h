/* SPDX-License-Identifier: MIT */
/*
 * What a verification will do: for each signature a plan (bench_plan.h), whose rows are
 * kernels and shapes. Made at once from the table and the registry. Runs nothing.
 */
#ifndef KP_DAEMON_VERIFY_PLAN_H
#define KP_DAEMON_VERIFY_PLAN_H

#include <jansson.h>
#include <stddef.h>

#include "daemon/bench/bench_plan.h"

enum { VERIFY_SEEDS = 16, VERIFY_SIGNATURES = 64 };

struct verify_plans {
	size_t count;
	struct bench_plan *items;
	json_t *remarks; /* what is left out, and why: sentences */
};

/*
 * Parameters are those of Verify. Without shapes: the family's default and edge shapes;
 * without kernels: all that could run here; without a signature: every one that a kernel
 * has, and of those the ones that the reference has, if it has any of them. A kernel that
 * is disabled is run where it is named. What a kernel says it does not do in a shape is a
 * row that says so. Codes of bench_plan_make, bad_seed, unknown_layout. Zero it first; it
 * is to be finished in any case.
 */
int verify_plans_make(struct verify_plans *plans, const struct kp_table *table,
	const struct kp_registry *registry, const struct kp_families *families,
	const json_t *parameters, struct kp_diag *diag)
	__attribute__((warn_unused_result));
void verify_plans_finish(struct verify_plans *plans);

#endif
