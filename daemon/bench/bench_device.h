/* SPDX-License-Identifier: MIT */
/* Which device each row of a plan runs on. */
#ifndef KP_DAEMON_BENCH_DEVICE_H
#define KP_DAEMON_BENCH_DEVICE_H

#include "daemon/bench/bench_plan.h"

/*
 * For every row that has none: the device that lets its kernel pass selection, where
 * that is not the CPU. Code no_memory.
 */
int bench_devices_find(struct bench_plan *plan, const struct kp_table *table,
	struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
