/* SPDX-License-Identifier: MIT */
/* How this thread computes floating point: what a kernel must leave as it was. */
#ifndef KP_LIB_FLOATS_H
#define KP_LIB_FLOATS_H

#include <stdbool.h>
#include <stdint.h>

/* Rounding, flushing of denormals, traps; not the flags of what has happened. */
struct kp_floats {
	uint64_t control, other;
};

struct kp_floats kp_floats_now(void);
bool kp_floats_equal(const struct kp_floats *a, const struct kp_floats *b);
void kp_floats_restore(const struct kp_floats *floats);

#endif
