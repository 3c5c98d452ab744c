/* SPDX-License-Identifier: MIT */
/*
 * Ways in which a caller may have the tensors of a call in memory: what a verification
 * goes through. Data alone; who lays tensors out reads it.
 */
#ifndef KP_LIB_PLACEMENT_H
#define KP_LIB_PLACEMENT_H

#include <stdbool.h>

#include "lib/base/diag.h"

/*
 * contiguous   as the signature says, row-major where it says nothing; starts at an
 *              element
 * offset       the same, one element behind a boundary of 64 bytes
 * transposed   the dims of every role in reverse
 * mixed        the same, of every second role alone
 * gaps         three elements behind each row belong to nobody
 * strided      two elements from each to the next
 * in_place     an output is the input that the family lets it be
 */
struct kp_placement {
	const char *name;
	bool reversed, alternating; /* of all roles, or of every second one */
	bool shifted;
	int step, gap;
	bool in_place;
};

extern const struct kp_placement kp_placements[]; /* ends with one without a name */
#define KP_CONTIGUOUS (&kp_placements[0])

/* By name, or NULL with *diag: unknown_layout, the nearest offered. */
const struct kp_placement *kp_placement_find(const char *name, struct kp_diag *diag);

#endif
