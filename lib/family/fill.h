/* SPDX-License-Identifier: MIT */
/*
 * Inputs for bench and verify, as a family asks for them (lib/family/family.h): the same
 * bytes for the same seed on every machine that rounds alike.
 *
 * Every role has a stream of its own, made from the seed and its name; elements
 * are drawn in row-major order of their coordinates, so that strides do not
 * change values. The generator is that of lib/base/random.h.
 */
#ifndef KP_LIB_FILL_H
#define KP_LIB_FILL_H

#include <stdint.h>

#include "kplug/plugin.h"
#include "lib/base/diag.h"
#include "lib/family/family.h"

/*
 * Fills the elements of a tensor on the CPU (of any dtype, any strides, no more
 * than KP_FAMILY_RANK dims) by role->fill; parameters that name a dim or derived
 * value take it from `shape`.
 *
 * normal    standard normal times scale (1)
 * uniform   real: [min, max); integers: each of [min, max) as likely
 * constant  value
 * zero      0
 * ids       integers in [0, below), each as likely
 * lens      integers in [min, max]; with total their sum is that
 * pages     a permutation of [0, below), from the start again where there are more
 *           elements than that
 * indptr    starts with 0, never falls, ends with total; random steps between
 *
 * Codes: missing_dim (a parameter cannot be computed from the shape), bad_fill (the
 * parameters cannot be met: min above max, a total out of reach, nothing below
 * 0), bad_dtype, no_memory. The object is the role.
 */
int kp_fill(const struct kp_family *family, const struct kp_role *role,
	const struct kp_shape *shape, uint64_t seed, const struct kp_tensor *tensor,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * Overwrites the elements with what no kernel writes by right: NaN, or for
 * integers and bool all bits set. An element that a kernel left alone is then seen.
 */
int kp_fill_poison(const struct kp_tensor *tensor, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
