/* SPDX-License-Identifier: MIT */
/*
 * What the host half gives to a kernel: one struct each, the same for both. Steps
 * count elements. Pointers are those of the device.
 */
#ifndef CUDA_PARAMETERS_H
#define CUDA_PARAMETERS_H

#include <stdint.h>

/* Threads of a block where a kernel leaves no choice. */
enum { CUDA_MAP_THREADS = 256, CUDA_MAP_UNROLL = 4 };

/* out[i, j] = f(a[i, j], b[i, j]). */
struct map_parameters {
	const void *a, *b;
	void *out;
	int64_t rows, n;
	int64_t a_row, a_step, b_row, b_step, out_row, out_step;
};

#endif
