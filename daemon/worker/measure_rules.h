/* SPDX-License-Identifier: MIT */
/*
 * Rules of the ABI that no result shows: what a kernel needs never falls as a dim grows,
 * a plan that is not its own is stale, and no call leaves a thread or memory behind.
 * What is broken becomes a finding, a sentence.
 */
#ifndef KP_WORKER_MEASURE_RULES_H
#define KP_WORKER_MEASURE_RULES_H

#include <jansson.h>

#include "daemon/worker/measure_kernel.h"

/*
 * grown: [{"dim", "shape"}], each shape larger in that dim than the case's and than the
 * one before it of the same dim. `need` is asked with data NULL, for contiguous tensors;
 * shapes that it refuses are left out.
 */
int measure_rules_need(struct measure_kernel *kernel, const struct measure_case *c,
	const json_t *grown, json_t *findings, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * For an attached and planned kernel that has run often: further calls may start no
 * thread and take no memory from the heap that stays. Outputs are spoiled.
 */
int measure_rules_run(struct measure_kernel *kernel, json_t *findings,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * For an attached kernel that plans: runs with its plan of the generation before, with
 * plans of other kernels of its plugin, and with one that nobody made must be KP_STALE.
 * Outputs and plan are spoiled.
 */
int measure_rules_plan(struct measure_kernel *kernel, struct measure_case *c,
	json_t *findings, struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
