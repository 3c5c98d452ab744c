/* SPDX-License-Identifier: MIT */
/* The rows of a plan for one shape. Of bench_plan.c only. */
#ifndef KP_DAEMON_BENCH_ROWS_H
#define KP_DAEMON_BENCH_ROWS_H

#include "daemon/bench_plan.h"

/*
 * Adds a row for each kernel of the parameters, or each that may run; sets the
 * plan's signature, and its reference and remark once. Codes of kp_request_from_json and
 * kp_table_find, no_signature, too_many.
 */
int bench_rows_add(struct bench_plan *plan, const struct kp_table *table,
	const struct kp_registry *registry, const json_t *parameters, size_t shape,
	struct kp_diag *diag) __attribute__((warn_unused_result));

void bench_source_finish(struct bench_source *source);

#endif
