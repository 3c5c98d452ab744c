/* SPDX-License-Identifier: MIT */
/* Plans: memory that one kernel filled for calls of one step. */
#ifndef KP_LIB_HOST_PLAN_H
#define KP_LIB_HOST_PLAN_H

#include "lib/host/site.h"

/*
 * Is the call's plan the rung's own? Then the call gets the generation that the plan was
 * made at. KP_STALE: it is another kernel's. A call without a plan passes: the kernel
 * says what it thinks of that.
 */
int kp_plan_check(struct kp_inner_site *site, const struct kp_inner_rung *rung,
	struct kp_call *call);

#endif
