/* SPDX-License-Identifier: MIT */
/* How this thread computes floating point: what a kernel must leave as it was. */
#ifndef KP_WORKER_FLOATS_H
#define KP_WORKER_FLOATS_H

#include <stdbool.h>
#include <stdint.h>

/* Rounding, flushing of denormals, traps; not the flags of what has happened. */
struct floats {
	uint64_t control, other;
};

struct floats floats_now(void);
bool floats_equal(const struct floats *a, const struct floats *b);
void floats_restore(const struct floats *floats);

#endif
