/* SPDX-License-Identifier: MIT */
/* Which tile of c a block makes, and how an element of it is written. */
#pragma once

#include "device.cuh"
#include "parameters.h"

struct tile_place {
	int64_t row, column;
};

/*
 * Blocks that run at the same time share lines of a and b: they go down groups of 8
 * tiles before they step to the right.
 */
static __device__ __forceinline__ struct tile_place find_tile(
	const struct gemm_parameters &p, int edge)
{
	const int64_t down = (p.m + edge - 1) / edge, across = (p.n + edge - 1) / edge;
	const int64_t band = 8 * across, first = blockIdx.x / band * 8;
	const int64_t high = down - first < 8 ? down - first : 8, at = blockIdx.x % band;
	struct tile_place place = {(first + at % high) * edge, at / high * edge};

	return place;
}

template <typename T>
static __device__ __forceinline__ void put_element(
	const struct gemm_parameters &p, int64_t row, int64_t column, float value)
{
	if (row < p.m && column < p.n)
		T::set(static_cast<T *>(p.c) + row * p.c_row + column * p.c_column,
			value);
}
