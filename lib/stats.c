/* SPDX-License-Identifier: MIT */
/* Quantiles of sorted samples. */
#include "lib/stats.h"

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

bool kp_stats_of(double *samples, size_t count, struct kp_stats *stats)
{
	if (count == 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!isfinite(samples[i]))
			return false;
	qsort(samples, count, sizeof(*samples), compare);
	*stats = (struct kp_stats){
		.count = count,
		.min = samples[0],
		.p10 = quantile(samples, count, 0.1),
		.median = quantile(samples, count, 0.5),
		.p90 = quantile(samples, count, 0.9),
		.max = samples[count - 1],
	};
	return true;
}
