/* SPDX-License-Identifier: MIT */
/* What a benchmark is asked for beside its shapes. Of bench_plan.c only. */
#ifndef KP_DAEMON_BENCH_TRAITS_H
#define KP_DAEMON_BENCH_TRAITS_H

#include "daemon/bench/bench_plan.h"

/*
 * Reads the traits of the parameters (an object, or NULL): sets the plan's traits, the
 * attributes that they are, and whether the family's work terms hold. One value each,
 * for a row is one case. Codes bad_trait, no_memory. Names are checked by whoever reads
 * the request.
 */
int bench_traits_read(struct bench_plan *plan, const json_t *asked, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
