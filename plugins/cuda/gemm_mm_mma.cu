/* SPDX-License-Identifier: MIT */
/*
 * gemm/mm of bf16 by the matrix instructions of a warp (m16n8k16), sums in f32. Tiles
 * of a and b are copied ahead into a ring of stages in shared memory. Each operand
 * lies along k or across it, its lines start at 16 bytes.
 */
#include "device.cuh"
#include "parameters.h"
#include "tiles.cuh"

/*
 * A tile of `edge` lines, CUDA_MMA_DEPTH deep, in pieces of 16 bytes. Along k a line
 * has 4 pieces, across it a step of k has edge / 8. Pieces are exchanged within a
 * line, so that the 8 rows of a matrix that is loaded lie in 8 different banks.
 */
template <int edge, bool along> struct mma_tile {
	enum { depth = CUDA_MMA_DEPTH, pieces = along ? depth / 8 : edge / 8 };

	static __device__ __forceinline__ kp_bf16 *piece(kp_bf16 *tile, int line, int at)
	{
		int moved = along ? at ^ (line >> 1 & 3) : at ^ (line & 7);

		return tile + (line * pieces + moved) * 8;
	}

	/* Rows of the four matrices of 16 lines from `line` and 16 steps of k. */
	static __device__ __forceinline__ void load(
		uint32_t to[4], kp_bf16 *tile, int line, int k, bool lines_first)
	{
		const int lane = threadIdx.x % KP_WARP, r = lane % 8;
		const int one = lane / 8 % 2, two = lane / 16;
		const int by_line = lines_first ? one : two,
			  by_k = lines_first ? two : one;

		if (along)
			kp_load_matrices(to,
				piece(tile, line + r + by_line * 8, k / 8 + by_k), false);
		else
			kp_load_matrices(to,
				piece(tile, k + r + by_k * 8, line / 8 + by_line), true);
	}
};

/* One operand: lines of k elements, `step` apart, from this tile's first line. */
struct mma_operand {
	const kp_bf16 *data;
	int64_t step, lines, k;
};

static __device__ __forceinline__ unsigned inside(int64_t left)
{
	return left >= 8 ? 16 : left > 0 ? (unsigned)left * 2 : 0;
}

template <int edge, bool along, int threads>
static __device__ __forceinline__ void copy_tile(
	kp_bf16 *tile, const struct mma_operand &o, int64_t k)
{
	typedef mma_tile<edge, along> shape;
	enum { count = edge * CUDA_MMA_DEPTH / 8 };

#pragma unroll
	for (int u = 0; u < count / threads; u++) {
		int i = threadIdx.x + u * threads;
		int line = i / shape::pieces, at = i % shape::pieces;
		int64_t outer = along ? line : k + line, inner = at * 8 + (along ? k : 0);
		unsigned bytes = outer < (along ? o.lines : o.k)
					 ? inside((along ? o.k : o.lines) - inner)
					 : 0;

		kp_copy_async16(shape::piece(tile, line, at),
			bytes ? o.data + outer * o.step + inner : o.data, bytes);
	}
}

template <int edge, bool a_along, bool b_along, int warps_down, int warps_across>
static __device__ __forceinline__ void multiply(const struct gemm_parameters &p)
{
	enum {
		threads = warps_down * warps_across * KP_WARP,
		high = edge / warps_down / 16, /* of a warp, in matrices */
		wide = edge / warps_across / 8,
		depth = CUDA_MMA_DEPTH,
		stages = CUDA_MMA_STAGES,
		elements = edge * depth
	};
	KP_SHARED(kp_bf16, shared, CUDA_MMA_SHARED(edge) / sizeof(kp_bf16));
	const struct tile_place place = find_tile(p, edge);
	const int warp = threadIdx.x / KP_WARP, lane = threadIdx.x % KP_WARP;
	const int row = warp / warps_across * high * 16;
	const int column = warp % warps_across * wide * 8;
	const int64_t turns = (p.k + depth - 1) / depth;
	const int64_t a_step = a_along ? p.a_row : p.a_column;
	const int64_t b_step = b_along ? p.b_column : p.b_row;
	const struct mma_operand a = {
		static_cast<const kp_bf16 *>(p.a) + place.row * (a_along ? a_step : 1),
		a_step, p.m - place.row, p.k};
	const struct mma_operand b = {
		static_cast<const kp_bf16 *>(p.b) + place.column * (b_along ? b_step : 1),
		b_step, p.n - place.column, p.k};
	float sums[high][wide][4] = {};

	for (int s = 0; s < stages - 1; s++) {
		kp_bf16 *stage = shared + s * 2 * elements;

		if (s < turns) {
			copy_tile<edge, a_along, threads>(stage, a, (int64_t)s * depth);
			copy_tile<edge, b_along, threads>(
				stage + elements, b, (int64_t)s * depth);
		}
		kp_copy_commit();
	}
	for (int64_t turn = 0; turn < turns; turn++) {
		kp_bf16 *ta = shared + turn % stages * 2 * elements, *tb = ta + elements;
		const int64_t ahead = turn + stages - 1;

		kp_copy_wait<stages - 2>();
		/* The stage that is filled next was read before this. */
		__syncthreads();
		if (ahead < turns) {
			kp_bf16 *stage = shared + ahead % stages * 2 * elements;

			copy_tile<edge, a_along, threads>(stage, a, ahead * depth);
			copy_tile<edge, b_along, threads>(
				stage + elements, b, ahead * depth);
		}
		kp_copy_commit();
#pragma unroll
		for (int k = 0; k < depth; k += 16) {
			uint32_t left[high][4], right[wide / 2][4];

#pragma unroll
			for (int i = 0; i < high; i++)
				mma_tile<edge, a_along>::load(
					left[i], ta, row + i * 16, k, true);
#pragma unroll
			for (int j = 0; j < wide / 2; j++)
				mma_tile<edge, b_along>::load(
					right[j], tb, column + j * 16, k, false);
#pragma unroll
			for (int i = 0; i < high; i++)
#pragma unroll
				for (int j = 0; j < wide; j++)
					kp_multiply_bf16(sums[i][j], left[i],
						right[j / 2] + j % 2 * 2);
		}
	}
#pragma unroll
	for (int i = 0; i < high; i++)
#pragma unroll
		for (int j = 0; j < wide; j++)
#pragma unroll
			for (int e = 0; e < 4; e++)
				put_element<kp_bf16>(p,
					place.row + row + i * 16 + lane / 4 + e / 2 * 8,
					place.column + column + j * 8 + lane % 4 * 2 +
						e % 2,
					sums[i][j][e]);
}

/* By edge, and by whether a and b lie along k (t) or across it (n). */
#define MMA_KERNEL(name, edge, a_along, b_along, down, across)                           \
	KP_KERNEL_WIDE(name, gemm_parameters, (down) * (across)*32)                      \
	{                                                                                \
		multiply<edge, a_along, b_along, down, across>(p);                       \
	}

MMA_KERNEL(gemm_mma_128_tn, 128, true, false, 2, 4)
MMA_KERNEL(gemm_mma_128_tt, 128, true, true, 2, 4)
MMA_KERNEL(gemm_mma_128_nn, 128, false, false, 2, 4)
MMA_KERNEL(gemm_mma_128_nt, 128, false, true, 2, 4)
MMA_KERNEL(gemm_mma_64_tn, 64, true, false, 2, 2)
MMA_KERNEL(gemm_mma_64_tt, 64, true, true, 2, 2)
MMA_KERNEL(gemm_mma_64_nn, 64, false, false, 2, 2)
MMA_KERNEL(gemm_mma_64_nt, 64, false, true, 2, 2)
