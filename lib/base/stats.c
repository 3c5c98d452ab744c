/* SPDX-License-Identifier: MIT */
/* Quantiles of sorted samples. */
#include "lib/base/stats.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;
	return (left > right) - (left < right);
}

static double quantile(const double *sorted, size_t count, double q)
{
	double place = q * (double)(count - 1);
	size_t below = (size_t)place;
	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] +
	       (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

static const double tail = 0.025;

/*
 * How many samples may be left out at either end: the median of the distribution lies
 * outside of what remains when at most so many of n fall on one side of it, each
 * with probability 1/2.
 */
static size_t left_out(size_t n)
{
	double log_of = -(double)n * log(2), sum = 0;
	size_t k = 0;

	/* log_of: the logarithm of the probability that exactly k are on one side. */
	while (k < n / 2 && (sum += exp(log_of)) <= tail) {
		log_of += log((double)(n - k)) - log((double)(k + 1));
		k++;
	}
	return k > 0 ? k - 1 : 0;
}

/* Of the distances from the median; they are walked from it to either side. */
static double deviation(const double *sorted, size_t count, double median)
{
	size_t above = 0, below, taken = 0, half = (count - 1) / 2;
	double last = 0, before = 0;

	while (above < count && sorted[above] < median)
		above++;
	below = above;
	while (taken <= half + (count % 2 == 0)) {
		bool up = below == 0 ||
			  (above < count &&
				  sorted[above] - median <= median - sorted[below - 1]);
		before = last;
		last = up ? sorted[above++] - median : median - sorted[--below];
		taken++;
	}
	return count % 2 ? last : (before + last) / 2;
}

bool kp_stats_of(double *samples, size_t count, struct kp_stats *stats)
{
	if (count == 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!isfinite(samples[i]))
			return false;
	qsort(samples, count, sizeof(*samples), compare);
	size_t out = left_out(count);
	double median = quantile(samples, count, 0.5);
	*stats = (struct kp_stats){
		.count = count,
		.min = samples[0],
		.p10 = quantile(samples, count, 0.1),
		.median = median,
		.p90 = quantile(samples, count, 0.9),
		.max = samples[count - 1],
		.mad = deviation(samples, count, median),
		.low = samples[out],
		.high = samples[count - 1 - out],
	};
	return true;
}
