/* SPDX-License-Identifier: MIT */
/*
 * Which part of a call is computed again: slices of the dims that the family calls
 * independent, as many as a bound on work allows. Copies nothing.
 */
#ifndef KP_LIB_HOST_SLICES_H
#define KP_LIB_HOST_SLICES_H

#include <stdint.h>

#include "kplug/plugin.h"
#include "lib/base/diag.h"
#include "lib/host/check.h"

struct kp_arena;

/* Operations that the least part may cost, and how many a copied element is worth. */
enum { KP_SLICES_WORK = 1 << 28, KP_SLICES_COPY = 8 };

struct kp_slices {
	int64_t extents[KP_FAMILY_DIMS];   /* of the part; -1: not known */
	const int64_t *of[KP_FAMILY_DIMS]; /* indexes in the call; NULL: all */
};

/*
 * tensors: one a role, NULL for one that is absent, right ones for the family; dims are
 * the call's extents. The same seed chooses alike. Indexes live in memory. Codes
 * too_large (nothing smaller can be computed by itself), no_memory.
 */
int kp_slices_choose(struct kp_slices *slices, const struct kp_check *check,
	const struct kp_tensor *const *tensors, const int64_t *dims, uint64_t seed,
	struct kp_arena *memory, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
