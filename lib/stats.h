/* SPDX-License-Identifier: MIT */
/* What is said of a number of measurements. Knows no unit. */
#ifndef KP_LIB_STATS_H
#define KP_LIB_STATS_H

#include <stdbool.h>
#include <stddef.h>

struct kp_stats {
	size_t count;
	double min, p10, median, p90, max;
};

/*
 * Sorts the samples. A quantile between two samples is interpolated linearly
 * (type 7 of Hyndman and Fan, 1996). false, and nothing written, when there are
 * none or one of them is not finite.
 */
bool kp_stats_of(double *samples, size_t count, struct kp_stats *stats);

#endif
