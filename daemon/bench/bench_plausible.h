/* SPDX-License-Identifier: MIT */
/* Can the times be true that a worker tells, where a kernel may talk in it? Pure. */
#ifndef KP_DAEMON_BENCH_PLAUSIBLE_H
#define KP_DAEMON_BENCH_PLAUSIBLE_H

#include "daemon/bench/bench_task.h"

/*
 * Why the times of a round that is over are not what any clock can have told; NULL: they
 * may be. Static.
 */
const char *bench_implausible(const struct bench_plan *plan,
	const struct bench_words *words, const struct kp_worker_result *result);

#endif
