/* SPDX-License-Identifier: MIT */
/* Samples, sorted once they are asked for. */
#include "tests/soak/clients/latencies.h"

#include <stdio.h>
#include <stdlib.h>

void latencies_add(struct latencies *latencies, int64_t ns)
{
	if (latencies->count == latencies->room) {
		size_t room = latencies->room ? 2 * latencies->room : 1024;
		double *ms = reallocarray(latencies->ms, room, sizeof(*ms));
		if (!ms)
			return;
		latencies->ms = ms;
		latencies->room = room;
	}
	latencies->ms[latencies->count++] = (double)ns / 1e6;
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

/* The smallest that so many in a hundred do not exceed. */
static double percentile(const struct latencies *latencies, size_t of)
{
	size_t at = (latencies->count * of + 99) / 100;
	return latencies->ms[at ? at - 1 : 0];
}

void latencies_print(struct latencies *latencies, const char *name)
{
	(void)printf("\"%s\": {\"count\": %zu", name, latencies->count);
	if (latencies->count > 0) {
		qsort(latencies->ms, latencies->count, sizeof(*latencies->ms), compare);
		(void)printf(", \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"most_ms\": %.3f",
			percentile(latencies, 50), percentile(latencies, 99),
			percentile(latencies, 100));
	}
	(void)printf("}");
}

void latencies_finish(struct latencies *latencies)
{
	free(latencies->ms);
	*latencies = (struct latencies){0};
}
