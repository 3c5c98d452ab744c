/* SPDX-License-Identifier: MIT */
/* Tensors of a call as the reference kernels read them; knows no operation. */
#ifndef REFERENCE_OPERAND_H
#define REFERENCE_OPERAND_H

#include "kplug/plugin.h"

/*
 * What a role must be. dims has a lower-case letter for each dim: the same letter
 * is the same extent in all roles. Elements have 32 bits.
 */
struct operand {
	const char *name;
	const char *dims;
	uint8_t code; /* enum kp_dtype_code */
	uint8_t optional;
};

/* The extents of a call by the letter of their dim, -1 before one is known. */
struct extents {
	int64_t of[26];
};

static inline int64_t extent(const struct extents *extents, char dim)
{
	return extents->of[dim - 'a'];
}

/* Elements of a row: where they start, and how far apart they are. */
struct row {
	float *data;
	int64_t step;
};

/* Row i of a tensor of rank 2. */
static inline struct row operand_row(const struct kp_tensor *tensor, int64_t i)
{
	struct row row = {
		(float *)tensor->data + i * tensor->strides[0], tensor->strides[1]};

	return row;
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
