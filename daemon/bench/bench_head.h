/* SPDX-License-Identifier: MIT */
/* What is said of a whole benchmark: with what, where, when and how. */
#ifndef KP_DAEMON_BENCH_HEAD_H
#define KP_DAEMON_BENCH_HEAD_H

#include <jansson.h>
#include <stdint.h>

#include "daemon/bench/bench_plan.h"
#include "lib/platform/platform.h"

/*
 * Members of a reply of Bench: version, when, families, platform, method, threads and
 * request (the parameters). A new reference, NULL when memory is exhausted.
 */
json_t *bench_head_json(const struct bench_plan *plan, const struct kp_platform *platform,
	const json_t *parameters, int64_t when);

#endif
