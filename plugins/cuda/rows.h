/* SPDX-License-Identifier: MIT */
/* Launches of an operation on each row; see rows.cuh. */
#ifndef CUDA_ROWS_H
#define CUDA_ROWS_H

#include "module.h"
#include "operand.h"

/* The functions of such a module, in this order; each for f32, then for bf16. */
enum { ROWS_WARP = 0, ROWS_BLOCK = 2, ROWS_ELEMENTS = 4, ROWS_FUNCTIONS = 6 };

#define ROWS_SOURCE(name, image)                                                         \
	{                                                                                \
		image, ROWS_FUNCTIONS,                                                   \
		{                                                                        \
			{#name "_warp_f32", 0}, {#name "_warp_bf16", 0},                 \
				{#name "_block_f32", 0}, {#name "_block_bf16", 0},       \
				{#name "_elements_f32", 0}, {#name "_elements_bf16", 0}, \
		}                                                                        \
	}

/* x and y have rank 2 and the same shape; weight has rank 1, or is NULL. */
int rows_run(const struct kp_call *call, const struct kp_tensor *x,
	const struct kp_tensor *weight, const struct kp_tensor *y, bool bf16, double eps);

#endif
