/* SPDX-License-Identifier: MIT */
/* The rows of a plan for one shape. For the units that make plans. */
#ifndef KP_DAEMON_BENCH_ROWS_H
#define KP_DAEMON_BENCH_ROWS_H

#include "daemon/bench/bench_plan.h"

/* The candidate of kp_explain_json with this id, borrowed; NULL: none. */
const json_t *bench_candidate(const json_t *candidates, const char *id);

/*
 * Adds a row for each kernel of the parameters, or each that may run (or, where none
 * may, each); sets the request and signature of the plan, its reference and remark once.
 * Codes of kp_request_from_json, kp_family_check_signature and kp_table_find,
 * no_signature, too_many.
 */
int bench_rows_add(struct bench_plan *plan, const struct kp_table *table,
	const struct kp_registry *registry, const json_t *parameters, size_t shape,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* For bench_plan_look: a row whose kernel may not be run any more says so. */
void bench_row_look(struct bench_plan *plan, struct bench_row *row,
	const struct kp_table *table, const struct kp_registry *registry);

void bench_row_finish(struct bench_row *row);

#endif
