/* SPDX-License-Identifier: MIT */
/* Launches of out = f(a, b), element by element; see map.cuh. */
#ifndef CUDA_MAP_H
#define CUDA_MAP_H

#include "module.h"
#include "operand.h"

/* The functions of a map's module, in this order. */
enum {
	MAP_VECTORS_F32,
	MAP_VECTORS_BF16,
	MAP_ELEMENTS_F32,
	MAP_ELEMENTS_BF16,
	MAP_FUNCTIONS
};

#define MAP_SOURCE(name, image)                                                          \
	{                                                                                \
		image, MAP_FUNCTIONS,                                                    \
		{                                                                        \
			{#name "_vectors_f32", 0}, {#name "_vectors_bf16", 0},           \
				{#name "_elements_f32", 0}, {#name "_elements_bf16", 0}, \
		}                                                                        \
	}

/* All three have rank 1 or 2 and the same shape. b may be NULL. */
int map_run(const struct kp_call *call, const struct kp_tensor *a,
	const struct kp_tensor *b, const struct kp_tensor *out, bool bf16);

#endif
