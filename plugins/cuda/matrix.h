/* SPDX-License-Identifier: MIT */
/* The call of a gemm/mm kernel, checked, and what its matrices lie like. */
#ifndef CUDA_MATRIX_H
#define CUDA_MATRIX_H

#include "operand.h"
#include "parameters.h"

/* KP_OK with m or n = 0 means that there is nothing to do. */
int matrix_take(
	const struct kp_call *call, struct gemm_parameters *product, bool *is_bf16);

/* Tiles of `edge` by `edge` that make up c. */
int64_t matrix_tiles(const struct gemm_parameters *product, int edge);

/*
 * The step between lines of elements that are next to each other: along the dim with
 * step `inner`, `length` long, with `lines` lines `outer` apart; 0 where they are not.
 */
int64_t matrix_line(int64_t inner, int64_t outer, int64_t length, int64_t lines);

#endif
