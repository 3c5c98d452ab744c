/* SPDX-License-Identifier: MIT */
/* Placements (lib/family/placement.h) of the tensors of a case. */
#ifndef KP_WORKER_MEASURE_LAYOUT_H
#define KP_WORKER_MEASURE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/worker/measure_case.h"
#include "lib/family/placement.h"

/* Is it another than those before it, for the tensors of this case? */
bool measure_layout_applies(
	const struct kp_placement *layout, const struct measure_case *c);

/* Lays one role out. Code too_large. */
int measure_layout_of(const struct kp_placement *layout, const struct measure_case *c,
	size_t role, struct kp_layout *out, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* The role whose memory this one is: itself, but for an output in place. */
size_t measure_layout_owner(
	const struct kp_placement *layout, const struct measure_case *c, size_t role);

#endif
