/* SPDX-License-Identifier: MIT */
/*
 * The tensors of a call, held against the family before a kernel sees them: what
 * passes here is a call that the family describes.
 */
#ifndef KP_LIB_ARGUMENT_H
#define KP_LIB_ARGUMENT_H

#include <stddef.h>

#include "kplug/plugin.h"
#include "lib/base/diag.h"
#include "lib/family/family.h"
#include "lib/family/format.h"

/*
 * Checks tensors in the family's order; NULL, or not being there at the end, is an
 * absent optional role. signature says the dtypes of its roles (a tensor for an
 * optional role that it lacks is refused); NULL: any dtype that the family allows
 * a role. On success *shape (may be NULL) has the extent of every dim that a
 * present role has; dims that no role has stay with the caller.
 *
 * Codes; the object is the role, the message has dim and both values:
 * wrong_count         more tensors than roles, or an array that is not there
 * missing_tensor      a required role is NULL or not covered
 * unexpected_tensor   an optional role that the signature does not have
 * bad_tensor          no shape, no strides, an offset, or no data for elements
 * wrong_device        on a device other than the CPU where the family says host
 * wrong_dtype, wrong_rank, bad_extent (negative), dims_disagree
 * too_large           offsets or bytes overflow
 * overlap             an output shares memory with another role, or with itself,
 *                     and no alias or interleave of the family allows it
 * unsupported_role    a role that repeats: a call of ABI 0 has one tensor a role
 */
int kp_arguments_check(const struct kp_family *family,
	const struct kp_signature *signature, const struct kp_tensor *const *tensors,
	size_t count, struct kp_shape *shape, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
