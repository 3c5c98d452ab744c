/* SPDX-License-Identifier: MIT */
/* Runs of equals in what is sorted. */
#include "lib/base/crowd.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

int64_t kp_crowd_of(int64_t *values, size_t n)
{
	int64_t crowd = values[0];
	size_t most = 0;

	qsort(values, n, sizeof(*values), compare);
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from; to < n && values[to] == values[from]; to++)
			continue;
		if (to - from < most)
			continue;
		most = to - from;
		crowd = values[from];
	}
	return crowd;
}
