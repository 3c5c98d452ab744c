/* SPDX-License-Identifier: MIT */
/*
 * The predicates of an operation's kernels that depend on the dims of a call: what holds
 * of them is a mask, and calls with one mask run one kernel.
 */
#ifndef KP_LIB_HOST_LADDER_H
#define KP_LIB_HOST_LADDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/diag.h"
#include "lib/family/family.h"
#include "lib/select/select.h"

enum { KP_LADDER_MOST = 64, KP_LADDER_POINTS = 256 };

/* Immutable; refers to no table. */
struct kp_step_of;
struct kp_ladder {
	struct kp_ladder *next; /* its owner's */
	struct kp_step_of *steps;
	size_t count;
	bool by_dims; /* there are too many: the mask is a hash of the dims themselves */
	size_t n_dims;
};

/* The extents that calls may have, a dim each. */
struct kp_bounds {
	const int64_t *least, *most;
};

/*
 * For requests like this one. Predicates that the bounds decide are left out.
 * family NULL: no dim is known, so that there is none. NULL with the codes of
 * kp_query_new.
 */
struct kp_ladder *kp_ladder_new(const struct kp_table *table,
	const struct kp_request *request, const struct kp_family *family,
	const struct kp_bounds *bounds, struct kp_diag *diag);
void kp_ladder_free(struct kp_ladder *ladder);
/* Has either the same mask for every call? */
bool kp_ladder_equal(const struct kp_ladder *a, const struct kp_ladder *b);

/* dims: an extent a dim of the family, -1 where it is not known. */
uint64_t kp_ladder_mask(const struct kp_ladder *ladder, const int64_t *dims);

/*
 * Extents of dim d where the mask may change, within the bounds, ascending; the ends
 * of the bounds are among them. Returns how many, at most KP_LADDER_POINTS.
 */
size_t kp_ladder_points(const struct kp_ladder *ladder, size_t dim,
	const struct kp_bounds *bounds, int64_t *points);

#endif
