/* SPDX-License-Identifier: MIT */
/*
 * Times a kernel. A sample is the mean of so many calls that they take some
 * 20 us, so that the clock's own cost does not count; caches are warm. Outputs are
 * poisoned before, and checked after, the samples 1, 2, 4, 8, ... and the last.
 */
#ifndef KP_WORKER_BENCH_CLOCK_H
#define KP_WORKER_BENCH_CLOCK_H

#include "daemon/worker/bench_kernel.h"
#include "lib/stats.h"

enum {
	BENCH_SAMPLES = 30, /* at least, ... */
	BENCH_SAMPLES_MOST = 65536,
};

struct bench_times {
	struct kp_stats stats; /* microseconds of one call */
	unsigned warmup;       /* calls that were not timed */
	unsigned repeats;      /* calls of a sample */
};

/*
 * Takes samples for time_s seconds, and on until there are BENCH_SAMPLES, but not
 * longer than 10 time_s; never fewer than 3. Codes of bench_kernel_run and
 * bench_case_check.
 */
int bench_time(struct bench_kernel *kernel, struct bench_case *c, double time_s,
	struct bench_times *times, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
