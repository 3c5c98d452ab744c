/* SPDX-License-Identifier: MIT */
/* What a call has to do, by the work terms of its family. Pure. */
#ifndef KP_DAEMON_BENCH_WORK_H
#define KP_DAEMON_BENCH_WORK_H

#include <jansson.h>

#include "daemon/bench/bench_plan.h"

/* Operations, and bytes that must move, each once (of a role that is read and written,
 * twice); 0 where the family states none, a dim is missing, or the traits of the plan
 * are not those that the terms are for. */
struct bench_work {
	double flops, bytes;
	json_t *by_role; /* role -> bytes; NULL when memory is exhausted */
};
void bench_work_init(struct bench_work *work, const struct bench_plan *plan,
	const struct kp_shape *shape);
void bench_work_finish(struct bench_work *work);

/* {"flops", "bytes"}, null where nothing is known. A new reference. */
json_t *bench_work_json(const struct bench_work *work);

/* 10^9 a second of what takes so many microseconds, or null. A new reference. */
json_t *bench_work_rate(double amount, double us);

/* The number, or null for what is none, negative, minus zero or beyond every
 * measurement. A new reference. */
json_t *bench_number(double value);

#endif
