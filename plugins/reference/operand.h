/* SPDX-License-Identifier: MIT */
/* Tensors of a call as the reference kernels read them; knows no operation. */
#ifndef REFERENCE_OPERAND_H
#define REFERENCE_OPERAND_H

#include "kplug/plugin.h"
#include "element.h"

/* What the elements of a role may be: f32 and bf16, each role as it likes, or i32. */
enum kind { REAL, INTEGER };

/*
 * What a role must be. dims has a lower-case letter for each dim: the same letter
 * is the same extent in all roles.
 */
struct operand {
	const char *name;
	const char *dims;
	enum kind kind;
	int optional;
};

/* The extents of a call by the letter of their dim, -1 before one is known. */
struct extents {
	int64_t of[26];
};

static inline int64_t extent(const struct extents *extents, char dim)
{
	return extents->of[dim - 'a'];
}

/* Reals that lie in a line: where the first is, and how many elements apart. */
struct row {
	void *data;
	int64_t step;
	int half; /* bf16, not f32 */
};

static inline double row_get(struct row row, int64_t i)
{
	if (row.half)
		return bf16_value(((const uint16_t *)row.data)[i * row.step]);
	return ((const float *)row.data)[i * row.step];
}

/* Rounded once, to the nearest. */
static inline void row_set(struct row row, int64_t i, double value)
{
	if (row.half)
		((uint16_t *)row.data)[i * row.step] = bf16_nearest(value);
	else
		((float *)row.data)[i * row.step] = (float)value;
}

/* The elements along a dim of a tensor, from the one that is `skip` elements in. */
static inline struct row operand_line(
	const struct kp_tensor *tensor, int64_t skip, int dim)
{
	struct row row = {(char *)tensor->data + skip * (tensor->dtype.bits / 8),
		tensor->strides[dim], tensor->dtype.code == KP_CODE_BFLOAT};

	return row;
}

/* Row i of a tensor of rank 2. */
static inline struct row operand_row(const struct kp_tensor *tensor, int64_t i)
{
	return operand_line(tensor, i * tensor->strides[0], 1);
}

/* Fills the caller's error, where there is one. Returns `status`. */
int operand_fail(struct kp_error *error, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Finds the tensors of `count` roles, given in the family's order, and checks
 * presence, rank, type and that extents agree. tensors[i] is NULL where an
 * optional role is absent. Another status than KP_OK is in the call's error.
 */
int operands_take(const struct kp_call *call, const struct operand *roles, uint32_t count,
	const struct kp_tensor **tensors, struct extents *extents);

/* The value of an attribute, or `preset` when the host gives none. */
double operand_real(const struct kp_call *call, uint32_t index, double preset);
int64_t operand_integer(const struct kp_call *call, uint32_t index, int64_t preset);

#endif
