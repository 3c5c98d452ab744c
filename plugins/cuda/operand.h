/* SPDX-License-Identifier: MIT */
/* The tensors of a call as the host half needs them; knows no operation. */
#ifndef CUDA_OPERAND_H
#define CUDA_OPERAND_H

#include <stdbool.h>

#include "kplug/plugin.h"

/*
 * What a role must be. dims has a lower-case letter for each dim: the same letter is
 * the same extent in all roles. Without `index` elements are f32 or bf16, the same in
 * all such roles; with it i32.
 */
struct operand {
	const char *name;
	const char *dims;
	bool index, optional;
};

enum { OPERANDS = 8 };

/* A call that was checked: tensor[i] is NULL where an optional role is absent. */
struct operands {
	const struct kp_tensor *tensor[OPERANDS];
	int64_t extents[26];
	bool bf16;
};

static inline int64_t extent(const struct operands *operands, char dim)
{
	return operands->extents[dim - 'a'];
}

/* Presence, rank, types and extents. Another status than KP_OK is in the call's error. */
int operands_take(const struct kp_call *call, const struct operand *roles, uint32_t count,
	struct operands *operands);

/* The step of a dim; 1 where it has one element or none, since it then means nothing. */
int64_t operand_step(const struct kp_tensor *tensor, int dim);

/*
 * Can rows along the last dim be read 16 bytes at a time? Its step is 1, and every row
 * starts at a multiple of `bytes`. An absent tensor can.
 */
bool operand_fits(const struct kp_tensor *tensor, int bytes);

/* The value of an attribute, or `preset` when the host gives none. */
double operand_real(const struct kp_call *call, uint32_t index, double preset);
int64_t operand_integer(const struct kp_call *call, uint32_t index, int64_t preset);

#endif
