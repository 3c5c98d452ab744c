/* SPDX-License-Identifier: MIT */
/* What is said of a number of measurements. Knows no unit. */
#ifndef KP_LIB_STATS_H
#define KP_LIB_STATS_H

#include <stdbool.h>
#include <stddef.h>

struct kp_stats {
	size_t count;
	double min, p10, median, p90, max;
	double mad;	  /* median absolute deviation from the median */
	double low, high; /* where the median of all that could be measured lies */
};

/*
 * Sorts the samples. A quantile between two samples is interpolated linearly
 * (type 7 of Hyndman and Fan, 1996). low and high are order statistics: the narrowest
 * symmetric pair that holds the median with 95 % whatever the distribution (binomial;
 * Conover, Practical Nonparametric Statistics, 3.2); of fewer than 6 samples, which
 * cannot tell so much, the least and the largest. false, and nothing written, when there
 * are none or one of them is not finite.
 */
bool kp_stats_of(double *samples, size_t count, struct kp_stats *stats);

#endif
