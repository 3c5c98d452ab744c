/* SPDX-License-Identifier: MIT */
/* The rows of one plan of a verification. Of verify_plan.c only. */
#ifndef KP_DAEMON_VERIFY_ROWS_H
#define KP_DAEMON_VERIFY_ROWS_H

#include <stdbool.h>

#include "daemon/bench/bench_plan.h"

/*
 * Weighs the rows that selection would not take: what a kernel says it does not do is
 * `unsupported`, what is off runs where it was named; the others go, or stay as they are
 * where they were named. The rows that stay get larger shapes for `need`.
 */
int verify_rows_settle(struct bench_plan *plan, const struct kp_table *table,
	bool is_named, struct kp_diag *diag) __attribute__((warn_unused_result));

/* Takes a row away; those behind it move up. */
void verify_rows_drop(struct bench_plan *plan, size_t row);

#endif
