/* SPDX-License-Identifier: MIT */
/*
 * out = f(a, b), element by element. F::binary says whether there is a b. out may be
 * a: every thread writes what it alone has read.
 */
#pragma once

#include "device.cuh"
#include "parameters.h"

/* Elements next to each other in rows that start at 16 bytes. Grid: pieces of a row,
 * rows. */
template <typename T, typename F>
static __device__ __forceinline__ void map_vectors(const struct map_parameters &p)
{
	enum { PIECE = CUDA_MAP_THREADS * CUDA_MAP_UNROLL };
	const int64_t vectors = p.n / T::vector;

	for (int64_t row = blockIdx.y; row < p.rows; row += gridDim.y) {
		const T *a = static_cast<const T *>(p.a) + row * p.a_row;
		const T *b = static_cast<const T *>(p.b) + row * p.b_row;
		T *out = static_cast<T *>(p.out) + row * p.out_row;
		const int64_t first = (int64_t)blockIdx.x * PIECE + threadIdx.x;
		uint4 x[CUDA_MAP_UNROLL], y[CUDA_MAP_UNROLL];

#pragma unroll
		for (int u = 0; u < CUDA_MAP_UNROLL; u++) {
			int64_t i = first + u * CUDA_MAP_THREADS;

			if (i >= vectors)
				continue;
			x[u] = kp_load16(a + i * T::vector);
			if (F::binary)
				y[u] = kp_load16(b + i * T::vector);
		}
#pragma unroll
		for (int u = 0; u < CUDA_MAP_UNROLL; u++) {
			int64_t i = first + u * CUDA_MAP_THREADS;
			float in[T::vector], other[T::vector];

			if (i >= vectors)
				continue;
			T::unpack(x[u], in);
			if (F::binary)
				T::unpack(y[u], other);
#pragma unroll
			for (int e = 0; e < T::vector; e++)
				in[e] = F::of(in[e], F::binary ? other[e] : 0);
			kp_store16(out + i * T::vector, T::pack(in));
		}
		/* What is left over of a row is less than a vector. */
		int64_t rest = vectors * T::vector + threadIdx.x;

		if (blockIdx.x == 0 && rest < p.n)
			T::set(out + rest, F::of(T::get(a + rest),
						   F::binary ? T::get(b + rest) : 0));
	}
}

/* Any steps. Grid: pieces of all elements. */
template <typename T, typename F>
static __device__ __forceinline__ void map_elements(const struct map_parameters &p)
{
	const int64_t step = (int64_t)gridDim.x * blockDim.x;

	for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < p.rows * p.n;
		i += step) {
		int64_t row = i / p.n, column = i % p.n;
		const T *a = static_cast<const T *>(p.a);
		const T *b = static_cast<const T *>(p.b);
		float x = T::get(a + row * p.a_row + column * p.a_step);
		float y = F::binary ? T::get(b + row * p.b_row + column * p.b_step) : 0;

		T::set(static_cast<T *>(p.out) + row * p.out_row + column * p.out_step,
			F::of(x, y));
	}
}

/* The four kernels of an operation: NAME_vectors_f32 and so on. */
#define MAP_KERNELS(name, function)                                                      \
	KP_KERNEL(name##_vectors_f32, map_parameters, CUDA_MAP_THREADS)                  \
	{                                                                                \
		map_vectors<kp_f32, function>(p);                                        \
	}                                                                                \
	KP_KERNEL(name##_vectors_bf16, map_parameters, CUDA_MAP_THREADS)                 \
	{                                                                                \
		map_vectors<kp_bf16, function>(p);                                       \
	}                                                                                \
	KP_KERNEL(name##_elements_f32, map_parameters, CUDA_MAP_THREADS)                 \
	{                                                                                \
		map_elements<kp_f32, function>(p);                                       \
	}                                                                                \
	KP_KERNEL(name##_elements_bf16, map_parameters, CUDA_MAP_THREADS)                \
	{                                                                                \
		map_elements<kp_bf16, function>(p);                                      \
	}
