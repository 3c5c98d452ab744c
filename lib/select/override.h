/* SPDX-License-Identifier: MIT */
/* Overrides: the first that is present decides, if it is eligible. */
#ifndef KP_LIB_OVERRIDE_H
#define KP_LIB_OVERRIDE_H

#include "lib/select/query.h"
#include "lib/select/select.h"

/*
 * Applies the request's overrides and the table's pin to *decision: selected and
 * overridden, or untouched when none applies; what gave way is in ignored.
 * Codes override_ineligible, no_such_kernel, ambiguous_name; never for a pin.
 */
int kp_override_apply(const struct kp_query *query, struct kp_decision *decision,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * The kernel that a value means: its id or name, or the first in rank of a solution,
 * eligible or not. Codes no_such_kernel, ambiguous_name.
 */
int kp_override_find(const struct kp_query *query, const char *value, size_t *kernel,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * Has any kernel of the operation this solution, eligible or not? Code
 * no_such_solution, the nearest offered.
 */
int kp_override_has_solution(const struct kp_query *query, const char *solution,
	struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
