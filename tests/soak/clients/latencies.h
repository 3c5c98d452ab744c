/* SPDX-License-Identifier: MIT */
/* How long replies took, from when they were to be asked for. */
#ifndef KP_SOAK_LATENCIES_H
#define KP_SOAK_LATENCIES_H

#include <stddef.h>
#include <stdint.h>

enum asked { ASKED_LIST, ASKED_SELECT, ASKED_EXPLAIN, ASKED_INFO, ASKED_CHANGE, ASKED };

struct latencies {
	double *ms;
	size_t count, room;
};

/* What memory is short for is not kept. */
void latencies_add(struct latencies *latencies, int64_t ns);
/* The members of a JSON object to stdout: count, p50, p99, most. */
void latencies_print(struct latencies *latencies, const char *name);
void latencies_finish(struct latencies *latencies);

#endif
