/* SPDX-License-Identifier: MIT */
/* One predicate of a ladder, for the files of lib/host that make it and look at it. */
#ifndef KP_LIB_HOST_LADDER_STEP_H
#define KP_LIB_HOST_LADDER_STEP_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/family/trait.h"
#include "lib/host/ladder.h"

enum { KP_NO_DIM = -1, KP_FACTORS = 8 };

/* A dim's extent, or a number where there is none. */
struct kp_factor_of {
	int dim;
	double number;
};

/* A product of extents over another; a dim is the product of itself. */
struct kp_source {
	size_t n_times, n_over;
	struct kp_factor_of times[KP_FACTORS], over[KP_FACTORS];
};

/* The value of a dim or of a derived value must pass all of it. */
struct kp_step_of {
	struct kp_source source;
	bool required, has_in;
	struct kp_trait trait; /* without name and list */
	size_t n_in;
	double *in;
};

static inline bool kp_source_is_dim(const struct kp_source *source)
{
	return source->n_times == 1 && source->n_over == 0 &&
	       source->times[0].dim != KP_NO_DIM;
}

#endif
