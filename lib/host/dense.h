/* SPDX-License-Identifier: MIT */
/* Whole, contiguous tensors made out of pointers and dims. */
#ifndef KP_LIB_HOST_DENSE_H
#define KP_LIB_HOST_DENSE_H

#include "lib/host/check.h"

/* Its tensors point into it: it must not move. */
struct kp_dense {
	struct kp_tensor tensors[KP_FAMILY_ROLES];
	const struct kp_tensor *list[KP_FAMILY_ROLES];
	int64_t shape[KP_FAMILY_ROLES][KP_FAMILY_RANK];
	int64_t strides[KP_FAMILY_ROLES][KP_FAMILY_RANK];
};

/*
 * A tensor a role of the signature; data (NULL: none is given, for `need`) has a pointer
 * a role, NULL where an optional one is absent. Code too_large; missing_dim: an extent
 * that a role has is negative.
 */
int kp_dense_make(const struct kp_check *check, void *const *data, const int64_t *dims,
	struct kp_dense *dense, struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
