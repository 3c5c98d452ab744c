/* SPDX-License-Identifier: MIT */
/*
 * Times a kernel. A sample is the mean of so many calls that they take some
 * 20 us, so that the clock's own cost does not count; caches are warm. Outputs are
 * poisoned before, and checked after, the samples 1, 2, 4, 8, ... and the last.
 */
#ifndef KP_WORKER_MEASURE_CLOCK_H
#define KP_WORKER_MEASURE_CLOCK_H

#include "daemon/worker/measure_kernel.h"
#include "lib/base/stats.h"

enum {
	MEASURE_SAMPLES = 30, /* at least, of all rounds together, ... */
	MEASURE_SAMPLES_MOST = 65536,
	MEASURE_KEPT = 1000, /* samples that are told one by one */
};

struct measure_times {
	struct kp_stats stats; /* microseconds of one call */
	unsigned warmup;       /* calls that were not timed */
	unsigned repeats;      /* calls of a sample */
	size_t n_kept;	       /* samples in the order in which they were taken: all, */
	double kept[MEASURE_KEPT]; /* or as many, evenly spread over them */
};

/* What a job asks for. */
struct measure_wish {
	double time_s;
	unsigned rounds; /* this is one of so many, each in a process of its own */
	size_t keep;	 /* samples, at most MEASURE_KEPT */
};

/*
 * Takes samples for time_s seconds, and on until there are its share of
 * MEASURE_SAMPLES, but not longer than 10 time_s; never fewer than its share of 3. Codes
 * of measure_kernel_run and measure_result_check.
 */
int measure_time(struct measure_kernel *kernel, struct measure_case *c,
	const struct measure_wish *wish, struct measure_times *times,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* Is another sample due, after `count` of them in `elapsed` seconds? */
bool measure_wants_more(size_t count, double elapsed, const struct measure_wish *wish);
/* Keeps as many samples as are wished, in the order in which they were taken. */
void measure_keep(const double *samples, size_t count, const struct measure_wish *wish,
	struct measure_times *times);

#endif
