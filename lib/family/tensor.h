/* SPDX-License-Identifier: MIT */
/*
 * Tensors as a family asks for them: how large, laid out how. Owns no data; all
 * memory is the caller's.
 */
#ifndef KP_LIB_TENSOR_H
#define KP_LIB_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kplug/plugin.h"
#include "lib/base/diag.h"
#include "lib/family/family.h"
#include "lib/family/format.h"

/* A tensor without its data. Strides count elements. */
struct kp_layout {
	enum kp_element element;
	int32_t rank;
	int64_t shape[KP_FAMILY_RANK];
	int64_t strides[KP_FAMILY_RANK];
	size_t elements; /* 0 when an extent is 0 */
	size_t bytes;	 /* from the first element to behind the last */
};

/* How the elements of a tensor lie. */
struct kp_arrangement {
	int32_t order[KP_FAMILY_RANK]; /* its dims, the outermost first */
	int64_t step;		       /* from an element to the next of a row: 1 */
	int64_t gap; /* elements behind each row that belong to nobody: 0 */
};

/*
 * For a role of a family in this shape: row-major, or as the format's layout says,
 * where that names the role's dims from the outermost to the innermost: "kn" and "nk"
 * of a role of the dims k and n, in letters of either case. What scales a format is a
 * role of its own: the elements lie as if they were dense. Codes: missing_dim (the shape
 * does not have it from 0 on), too_large (the bytes do not fit ptrdiff_t),
 * unsupported_format (another layout: its bytes are described by the kernel that asks
 * for it), unsupported_block (of no size that is known here). The object is the role.
 */
int kp_layout_of_role(const struct kp_role *role, const struct kp_shape *shape,
	const struct kp_format *format, struct kp_layout *layout, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * Lays the same elements another way; the order must have each dim once, step is 1 or
 * more, gap 0 or more. Code too_large.
 */
int kp_layout_arrange(struct kp_layout *layout, const struct kp_arrangement *arrangement,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * A tensor on the CPU whose shape and strides are those of *layout, which must
 * outlive it. data may be NULL (for `need`) and points to layout->bytes bytes.
 */
struct kp_tensor kp_layout_tensor(struct kp_layout *layout, void *data);

/*
 * The bytes that a tensor's elements lie in, as offsets from its data: [first, end),
 * equal when it has none. First is negative for negative strides. Codes
 * bad_extent, bad_dtype (kplug has no name for it), too_large.
 */
int kp_tensor_span(const struct kp_tensor *tensor, int64_t *first, int64_t *end,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* The number of elements; 0 when an extent is 0. After kp_tensor_span only. */
size_t kp_tensor_count(const struct kp_tensor *tensor);

/*
 * Goes over the elements in row-major order, whatever the strides:
 * struct kp_walk walk = kp_walk_start(tensor); while (kp_walk_next(&walk)) walk.at ...
 */
struct kp_walk {
	const struct kp_tensor *tensor;
	size_t bytes; /* of an element */
	size_t index; /* of the element at `at` */
	size_t count;
	int64_t coordinates[KP_FAMILY_RANK];
	char *at;
};
struct kp_walk kp_walk_start(const struct kp_tensor *tensor);
bool kp_walk_next(struct kp_walk *walk);

#endif
