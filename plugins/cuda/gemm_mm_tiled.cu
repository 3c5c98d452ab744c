/* SPDX-License-Identifier: MIT */
/*
 * gemm/mm with ordinary instructions, any strides: a block makes a square tile of c
 * from tiles of a and b in shared memory, the next of which are on their way while
 * one is used. Sums are f32, in the order of k.
 */
#include "device.cuh"
#include "parameters.h"
#include "tiles.cuh"

/* One operand's tiles: `edge` lines of CUDA_TILED_DEPTH elements along k. */
template <typename T, int edge> struct tiled_operand {
	enum {
		depth = CUDA_TILED_DEPTH,
		step = edge + CUDA_TILED_PAD,
		mine = edge * depth / CUDA_TILED_THREADS
	};
	const T *data;
	int64_t line_step, k_step, lines, k; /* from this tile's first line */
	float held[mine];

	/* Neighbours read neighbours, whichever dim has step 1. */
	__device__ __forceinline__ void locate(int u, int *line, int *at) const
	{
		int i = threadIdx.x + u * CUDA_TILED_THREADS;
		bool along = k_step == 1;

		*at = along ? i % depth : i / edge;
		*line = along ? i / depth : i % edge;
	}

	__device__ __forceinline__ void fetch(int64_t from)
	{
#pragma unroll
		for (int u = 0; u < mine; u++) {
			int line, at;

			locate(u, &line, &at);
			held[u] = line < lines && from + at < k
					  ? T::get(data + line * line_step +
						    (from + at) * k_step)
					  : 0;
		}
	}

	__device__ __forceinline__ void store(float *tile) const
	{
#pragma unroll
		for (int u = 0; u < mine; u++) {
			int line, at;

			locate(u, &line, &at);
			tile[at * step + line] = held[u];
		}
	}
};

/* A thread's lines: groups of 4, 16 threads apart, so that banks do not clash. */
template <int edge> static __device__ __forceinline__ int tiled_line(int thread, int i)
{
	return i / 4 * 64 + thread * 4 + i % 4;
}

template <typename T, int edge>
static __device__ __forceinline__ void tiled(const struct gemm_parameters &p)
{
	enum { each = edge / 16, depth = CUDA_TILED_DEPTH, step = edge + CUDA_TILED_PAD };
	KP_SHARED(float, shared, CUDA_TILED_SHARED(edge) / sizeof(float));
	const struct tile_place place = find_tile(p, edge);
	const int x = threadIdx.x % 16, y = threadIdx.x / 16;
	float sums[each][each] = {};
	tiled_operand<T, edge> a = {static_cast<const T *>(p.a) + place.row * p.a_row,
		p.a_row, p.a_column, p.m - place.row, p.k, {}};
	tiled_operand<T, edge> b = {
		static_cast<const T *>(p.b) + place.column * p.b_column, p.b_column,
		p.b_row, p.n - place.column, p.k, {}};
	int stage = 0;

	a.fetch(0);
	b.fetch(0);
	for (int64_t k = 0; k < p.k; k += depth, stage ^= 1) {
		float *ta = shared + stage * 2 * depth * step, *tb = ta + depth * step;

		a.store(ta);
		b.store(tb);
		__syncthreads();
		if (k + depth < p.k) {
			a.fetch(k + depth);
			b.fetch(k + depth);
		}
#pragma unroll
		for (int at = 0; at < depth; at++) {
			float left[each], right[each];

#pragma unroll
			for (int i = 0; i < each; i++) {
				left[i] = ta[at * step + tiled_line<edge>(y, i)];
				right[i] = tb[at * step + tiled_line<edge>(x, i)];
			}
#pragma unroll
			for (int i = 0; i < each; i++)
#pragma unroll
				for (int j = 0; j < each; j++)
					sums[i][j] += left[i] * right[j];
		}
	}
#pragma unroll
	for (int i = 0; i < each; i++)
#pragma unroll
		for (int j = 0; j < each; j++)
			put_element<T>(p, place.row + tiled_line<edge>(y, i),
				place.column + tiled_line<edge>(x, j), sums[i][j]);
}

KP_KERNEL(gemm_tiled_128_f32, gemm_parameters, CUDA_TILED_THREADS)
{
	tiled<kp_f32, 128>(p);
}
KP_KERNEL(gemm_tiled_64_f32, gemm_parameters, CUDA_TILED_THREADS)
{
	tiled<kp_f32, 64>(p);
}
KP_KERNEL(gemm_tiled_128_bf16, gemm_parameters, CUDA_TILED_THREADS)
{
	tiled<kp_bf16, 128>(p);
}
KP_KERNEL(gemm_tiled_64_bf16, gemm_parameters, CUDA_TILED_THREADS)
{
	tiled<kp_bf16, 64>(p);
}
