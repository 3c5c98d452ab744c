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

/* y = g(x) row by row, with a factor for each column where weight is not NULL. */
struct row_parameters {
	const void *x, *weight;
	void *y;
	int64_t rows, n;
	int64_t x_row, x_step, y_row, y_step, weight_step;
	double eps;
};

/* A row by a warp holds so many vectors a lane, by a block so many a thread. */
enum {
	CUDA_WARP_THREADS = 256,
	CUDA_WARP_KEPT = 8,
	CUDA_ROW_KEPT = 4,
	CUDA_ROW_MOST = 1024
};
enum { CUDA_ROW_SHARED = 32 * 4 };

/* c = a b. */
struct gemm_parameters {
	const void *a, *b;
	void *c;
	int64_t m, n, k;
	int64_t a_row, a_column, b_row, b_column, c_row, c_column;
};

enum { CUDA_TILED_THREADS = 256, CUDA_TILED_DEPTH = 16, CUDA_TILED_PAD = 4 };

/* Shared memory of a tiled product of `tile` by `tile`: two stages of both operands. */
#define CUDA_TILED_SHARED(tile) (2 * 2 * CUDA_TILED_DEPTH * ((tile) + CUDA_TILED_PAD) * 4)

enum { CUDA_MMA_DEPTH = 32, CUDA_MMA_STAGES = 4 };

/* Likewise of a product by matrix instructions: elements of two bytes. */
#define CUDA_MMA_SHARED(tile) (CUDA_MMA_STAGES * 2 * CUDA_MMA_DEPTH * (tile)*2)

/*
 * One token a sequence against its paged cache. A block attends with up to
 * `heads_at_once` heads of one cache head to one of `splits` parts of the tokens; with
 * more than one part what comes of each is joined afterwards.
 */
struct decode_parameters {
	const void *q, *k, *v;
	const int32_t *table, *lens;
	void *out;
	float *sums;  /* [b * h][splits][d], with more than one part */
	float *stats; /* [b * h][splits][2]: greatest score, sum of weights */
	int64_t b, h, cache_heads, d, pages, page, max_pages;
	int64_t q_sequence, q_head, q_step;
	int64_t k_page, k_token, k_head, k_step;
	int64_t v_page, v_token, v_head, v_step;
	int64_t table_sequence, table_step, lens_step;
	int64_t out_sequence, out_head, out_step;
	int64_t window;
	double scale;
	int64_t group; /* heads of a cache head */
	int64_t tiles; /* blocks that share a group */
	int64_t splits;
};

enum { CUDA_DECODE_THREADS = 128, CUDA_DECODE_WARPS = 4, CUDA_JOIN_THREADS = 128 };

/* Shared memory: of every warp and head two numbers and 32 times `each` sums. */
#define CUDA_DECODE_SHARED(heads, each)                                                  \
	(CUDA_DECODE_WARPS * (heads) * (32 * (each) + 2) * 4)

#endif
