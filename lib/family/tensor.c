/* SPDX-License-Identifier: MIT */
/* Sizes of tensors, computed so that no overflow goes unseen, and walks over them. */
#include "lib/family/tensor.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/family/element.h"

static int too_large(const char *object, struct kp_diag *diag)
{
	return kp_diag_set(diag, "too_large", object,
		"%s: its bytes are more than a program can address", object);
}

/* Strides and sizes; -1 when one overflows. */
static int arrange(struct kp_layout *layout, const struct kp_arrangement *arrangement)
{
	int64_t stride = arrangement->step;
	int64_t last = 0, bytes, far;

	layout->elements = 1;
	for (int32_t place = layout->rank - 1; place >= 0; place--) {
		int32_t i = arrangement->order[place];
		int64_t extent = layout->shape[i];
		layout->strides[i] = stride;
		if (__builtin_mul_overflow(
			    layout->elements, (size_t)extent, &layout->elements) ||
			__builtin_mul_overflow(
				stride, extent > 0 ? extent - 1 : 0, &far) ||
			__builtin_add_overflow(last, far, &last) ||
			__builtin_mul_overflow(stride, extent > 0 ? extent : 1, &stride))
			return -1;
		if (place == layout->rank - 1 &&
			__builtin_add_overflow(stride, arrangement->gap, &stride))
			return -1;
	}
	/* What lies behind the last element belongs to nobody. */
	if (__builtin_add_overflow(last, 1, &last) ||
		__builtin_mul_overflow(
			last, (int64_t)kp_element_bytes(layout->element), &bytes))
		return -1;
	layout->bytes = layout->elements == 0 ? 0 : (size_t)bytes;
	return 0;
}

static struct kp_arrangement row_major(const struct kp_layout *layout)
{
	struct kp_arrangement arrangement = {.step = 1};

	for (int32_t i = 0; i < layout->rank; i++)
		arrangement.order[i] = i;
	return arrangement;
}

/* The order that a layout's name says; false where it is not one of the role's dims. */
static bool read_order(const struct kp_role *role, const char *name, int32_t *order)
{
	unsigned seen = 0;

	for (size_t place = 0; place < role->rank; place++) {
		size_t longest = 0;
		for (size_t i = 0; i < role->rank; i++) {
			const char *dim = role->dims[i].name;
			size_t length = dim ? strlen(dim) : 0;
			if (length <= longest || (seen & (1u << i)) ||
				strncasecmp(name, dim, length) != 0)
				continue;
			longest = length;
			order[place] = (int32_t)i;
		}
		if (longest == 0)
			return false;
		seen |= 1u << order[place];
		name += longest;
	}
	return *name == '\0';
}

static int set_extents(const struct kp_role *role, const struct kp_shape *shape,
	struct kp_layout *layout, struct kp_diag *diag)
{
	for (size_t i = 0; i < role->rank; i++) {
		const char *name = role->dims[i].name;
		int64_t extent =
			name ? kp_shape_get(shape, name) : (int64_t)role->dims[i].number;
		if (extent < 0)
			return kp_diag_set(diag, "missing_dim", role->name,
				"%s: the shape does not say its dim %s", role->name,
				name);
		layout->shape[i] = extent;
	}
	layout->rank = (int32_t)role->rank;
	return 0;
}

int kp_layout_of_role(const struct kp_role *role, const struct kp_shape *shape,
	const struct kp_format *format, struct kp_layout *layout, struct kp_diag *diag)
{
	struct kp_layout made = {.element = format->element};
	char text[KP_SIGNATURE_BYTES];

	if (format->block_dynamic)
		return kp_diag_set(diag, "unsupported_block", role->name,
			"%s: %s has blocks of no size that is known here: name one, as "
			"in block=1x32",
			role->name, kp_format_print(format, text, sizeof(text)));
	if (set_extents(role, shape, &made, diag) < 0)
		return -1;
	struct kp_arrangement arrangement = row_major(&made);
	if (format->layout[0] && !read_order(role, format->layout, arrangement.order))
		return kp_diag_set(diag, "unsupported_format", role->name,
			"%s: how %s lies in memory is not described by the family",
			role->name, kp_format_print(format, text, sizeof(text)));
	if (arrange(&made, &arrangement) < 0)
		return too_large(role->name, diag);
	*layout = made;
	return 0;
}

int kp_layout_arrange(struct kp_layout *layout, const struct kp_arrangement *arrangement,
	struct kp_diag *diag)
{
	struct kp_layout made = *layout;

	if (arrange(&made, arrangement) < 0)
		return too_large("tensor", diag);
	*layout = made;
	return 0;
}

struct kp_tensor kp_layout_tensor(struct kp_layout *layout, void *data)
{
	return (struct kp_tensor){
		.data = data,
		.device = {KP_DEVICE_CPU, 0},
		.ndim = layout->rank,
		.dtype = kp_element_dtype(layout->element),
		.shape = layout->shape,
		.strides = layout->strides,
		.byte_offset = 0,
	};
}

/* The lowest and the highest offset of an element; false when one overflows. */
static bool reach(const struct kp_tensor *tensor, int64_t *low, int64_t *high)
{
	size_t count = 1;
	int64_t far;

	for (int32_t i = 0; i < tensor->ndim; i++) {
		/* A stride of 0 makes many elements of little memory. */
		if (__builtin_mul_overflow(count, (size_t)tensor->shape[i], &count) ||
			__builtin_mul_overflow(
				tensor->shape[i] - 1, tensor->strides[i], &far) ||
			__builtin_add_overflow(
				far < 0 ? *low : *high, far, far < 0 ? low : high))
			return false;
	}
	return true;
}

int kp_tensor_span(const struct kp_tensor *tensor, int64_t *first, int64_t *end,
	struct kp_diag *diag)
{
	int64_t low = 0;
	int64_t high = 0;
	int64_t bytes = tensor->dtype.bits / 8;
	bool empty = false;

	if (tensor->dtype.bits % 8 != 0 || bytes == 0 || tensor->dtype.lanes != 1)
		return kp_diag_set(diag, "bad_dtype", "tensor",
			"a tensor of %u bits and %u lanes has no dtype of kplug",
			tensor->dtype.bits, tensor->dtype.lanes);
	for (int32_t i = 0; i < tensor->ndim; i++) {
		if (tensor->shape[i] < 0)
			return kp_diag_set(diag, "bad_extent", "tensor",
				"dim %d has the extent %lld", i,
				(long long)tensor->shape[i]);
		empty = empty || tensor->shape[i] == 0;
	}
	if (!empty && (!reach(tensor, &low, &high) ||
			      __builtin_mul_overflow(low, bytes, &low) ||
			      __builtin_add_overflow(high, 1, &high) ||
			      __builtin_mul_overflow(high, bytes, &high)))
		return too_large("tensor", diag);
	*first = empty ? 0 : low;
	*end = empty ? 0 : high;
	return 0;
}

size_t kp_tensor_count(const struct kp_tensor *tensor)
{
	size_t count = 1;
	for (int32_t i = 0; i < tensor->ndim; i++)
		count *= (size_t)tensor->shape[i];
	return count;
}

struct kp_walk kp_walk_start(const struct kp_tensor *tensor)
{
	return (struct kp_walk){
		.tensor = tensor,
		.bytes = tensor->dtype.bits / 8,
		.count = kp_tensor_count(tensor),
	};
}

/* Moves to the next coordinates; the last dim is the fastest. */
static void advance(struct kp_walk *walk)
{
	const struct kp_tensor *tensor = walk->tensor;
	for (int32_t i = tensor->ndim - 1; i >= 0; i--) {
		int64_t step = tensor->strides[i] * (int64_t)walk->bytes;
		walk->at += step;
		if (++walk->coordinates[i] < tensor->shape[i])
			return;
		walk->at -= step * tensor->shape[i];
		walk->coordinates[i] = 0;
	}
}

bool kp_walk_next(struct kp_walk *walk)
{
	if (!walk->at) {
		walk->at = walk->tensor->data;
		return walk->count > 0;
	}
	if (++walk->index >= walk->count)
		return false;
	advance(walk);
	return true;
}
