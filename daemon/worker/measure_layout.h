/* SPDX-License-Identifier: MIT */
/* How the tensors of a case lie: a row for each way that a caller may have them. */
#ifndef KP_WORKER_MEASURE_LAYOUT_H
#define KP_WORKER_MEASURE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/worker/measure_case.h"

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
struct measure_layout {
	const char *name;
	bool reversed, alternating; /* of all roles, or of every second one */
	bool shifted;
	int step, gap;
	bool in_place;
};

extern const struct measure_layout measure_layouts[]; /* ends with one without a name */
#define MEASURE_CONTIGUOUS (&measure_layouts[0])

/* Is it another than those before it, for the tensors of this case? */
bool measure_layout_applies(
	const struct measure_layout *layout, const struct measure_case *c);

/* Lays one role out. Code too_large. */
int measure_layout_of(const struct measure_layout *layout, const struct measure_case *c,
	size_t role, struct kp_layout *out, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* The role whose memory this one is: itself, but for an output in place. */
size_t measure_layout_owner(
	const struct measure_layout *layout, const struct measure_case *c, size_t role);

#endif
