/* SPDX-License-Identifier: MIT */
/*
 * Rows that a group of threads, a warp or a block, reads once, keeps in registers as
 * far as they reach, and writes. y may be x: a thread writes what it alone has read.
 */
#pragma once

#include "device.cuh"
#include "parameters.h"

struct sum_of {
	static __device__ __forceinline__ float join(float x, float y)
	{
		return x + y;
	}
};

struct most_of {
	static __device__ __forceinline__ float join(float x, float y)
	{
		return kp_max(x, y);
	}
};

template <typename J> static __device__ __forceinline__ float join_warp(float value)
{
#pragma unroll
	for (int mask = KP_WARP / 2; mask > 0; mask /= 2)
		value = J::join(value, __shfl_xor_sync(KP_ALL_LANES, value, mask));
	return value;
}

/* Over all threads of the block, whose number is a multiple of a warp's. */
template <typename J>
static __device__ __forceinline__ float join_block(float value, float *scratch)
{
	const unsigned warp = threadIdx.x / KP_WARP, warps = blockDim.x / KP_WARP;

	value = join_warp<J>(value);
	__syncthreads();
	if (threadIdx.x % KP_WARP == 0)
		scratch[warp] = value;
	__syncthreads();
	value = scratch[0];
	for (unsigned i = 1; i < warps; i++)
		value = J::join(value, scratch[i]);
	return value;
}

/* Who reads a row together. */
struct warp_of_row {
	static __device__ __forceinline__ unsigned rank(void)
	{
		return threadIdx.x % KP_WARP;
	}
	static __device__ __forceinline__ unsigned count(void)
	{
		return KP_WARP;
	}
	static __device__ __forceinline__ int64_t first_row(void)
	{
		return ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / KP_WARP;
	}
	static __device__ __forceinline__ int64_t rows_at_once(void)
	{
		return (int64_t)gridDim.x * (blockDim.x / KP_WARP);
	}
	template <typename J> static __device__ __forceinline__ float join(float value)
	{
		return join_warp<J>(value);
	}
};

struct block_of_row {
	static __device__ __forceinline__ unsigned rank(void)
	{
		return threadIdx.x;
	}
	static __device__ __forceinline__ unsigned count(void)
	{
		return blockDim.x;
	}
	static __device__ __forceinline__ int64_t first_row(void)
	{
		return blockIdx.x;
	}
	static __device__ __forceinline__ int64_t rows_at_once(void)
	{
		return gridDim.x;
	}
	template <typename J> static __device__ __forceinline__ float join(float value)
	{
		KP_SHARED(float, scratch, CUDA_ROW_SHARED / sizeof(float));
		return join_block<J>(value, scratch);
	}
};

/* A row of elements that are next to each other and start at 16 bytes. */
template <typename T, typename G, int kept> struct vector_row {
	const T *x, *weight;
	T *y;
	int64_t n, vectors;
	uint4 first[kept];

	__device__ __forceinline__ vector_row(const struct row_parameters &p, int64_t row)
	    : x(static_cast<const T *>(p.x) + row * p.x_row),
	      weight(static_cast<const T *>(p.weight)),
	      y(static_cast<T *>(p.y) + row * p.y_row), n(p.n), vectors(p.n / T::vector)
	{
#pragma unroll
		for (int u = 0; u < kept; u++) {
			int64_t i = G::rank() + (int64_t)u * G::count();

			if (i < vectors)
				first[u] = kp_load16(x + i * T::vector);
		}
	}

	/* Less than a vector is left over at the end: an element for each thread. */
	__device__ __forceinline__ int64_t rest(void) const
	{
		return vectors * T::vector + G::rank();
	}

	template <typename F> __device__ __forceinline__ void see(uint4 v, F f) const
	{
		float in[T::vector];

		T::unpack(v, in);
#pragma unroll
		for (int e = 0; e < T::vector; e++)
			f(in[e]);
	}

	template <typename F> __device__ __forceinline__ void each(F f) const
	{
#pragma unroll
		for (int u = 0; u < kept; u++)
			if (G::rank() + (int64_t)u * G::count() < vectors)
				see(first[u], f);
		for (int64_t i = G::rank() + (int64_t)kept * G::count(); i < vectors;
			i += G::count())
			see(kp_load16(x + i * T::vector), f);
		if (rest() < n)
			f(T::get(x + rest()));
	}

	template <typename F>
	__device__ __forceinline__ void put(int64_t i, uint4 v, F f) const
	{
		float in[T::vector], factor[T::vector];

		T::unpack(v, in);
		if (weight)
			T::unpack(kp_load_const16(weight + i * T::vector), factor);
#pragma unroll
		for (int e = 0; e < T::vector; e++)
			in[e] = f(in[e]) * (weight ? factor[e] : 1);
		kp_store16(y + i * T::vector, T::pack(in));
	}

	template <typename F> __device__ __forceinline__ void write(F f) const
	{
#pragma unroll
		for (int u = 0; u < kept; u++) {
			int64_t i = G::rank() + (int64_t)u * G::count();

			if (i < vectors)
				put(i, first[u], f);
		}
		for (int64_t i = G::rank() + (int64_t)kept * G::count(); i < vectors;
			i += G::count())
			put(i, kp_load16(x + i * T::vector), f);
		if (rest() < n)
			T::set(y + rest(),
				f(T::get(x + rest())) *
					(weight ? T::get(weight + rest()) : 1));
	}
};

/* A row of elements with any steps, by a block. */
template <typename T, typename G, int kept> struct element_row {
	const T *x, *weight;
	T *y;
	int64_t n, x_step, y_step, weight_step;

	__device__ __forceinline__ element_row(
		const struct row_parameters &p, int64_t row)
	    : x(static_cast<const T *>(p.x) + row * p.x_row),
	      weight(static_cast<const T *>(p.weight)),
	      y(static_cast<T *>(p.y) + row * p.y_row), n(p.n), x_step(p.x_step),
	      y_step(p.y_step), weight_step(p.weight_step)
	{
	}

	template <typename F> __device__ __forceinline__ void each(F f) const
	{
		for (int64_t i = G::rank(); i < n; i += G::count())
			f(T::get(x + i * x_step));
	}

	template <typename F> __device__ __forceinline__ void write(F f) const
	{
		for (int64_t i = G::rank(); i < n; i += G::count())
			T::set(y + i * y_step,
				f(T::get(x + i * x_step)) *
					(weight ? T::get(weight + i * weight_step) : 1));
	}
};

/* The six kernels of an operation: NAME_warp_f32 and so on. */
#define ROW_KERNELS(name, operation)                                                     \
	KP_KERNEL(name##_warp_f32, row_parameters, CUDA_WARP_THREADS)                    \
	{                                                                                \
		operation<vector_row<kp_f32, warp_of_row, CUDA_WARP_KEPT>, warp_of_row>( \
			p);                                                              \
	}                                                                                \
	KP_KERNEL(name##_warp_bf16, row_parameters, CUDA_WARP_THREADS)                   \
	{                                                                                \
		operation<vector_row<kp_bf16, warp_of_row, CUDA_WARP_KEPT>,              \
			warp_of_row>(p);                                                 \
	}                                                                                \
	KP_KERNEL(name##_block_f32, row_parameters, CUDA_ROW_MOST)                       \
	{                                                                                \
		operation<vector_row<kp_f32, block_of_row, CUDA_ROW_KEPT>,               \
			block_of_row>(p);                                                \
	}                                                                                \
	KP_KERNEL(name##_block_bf16, row_parameters, CUDA_ROW_MOST)                      \
	{                                                                                \
		operation<vector_row<kp_bf16, block_of_row, CUDA_ROW_KEPT>,              \
			block_of_row>(p);                                                \
	}                                                                                \
	KP_KERNEL(name##_elements_f32, row_parameters, CUDA_ROW_MOST)                    \
	{                                                                                \
		operation<element_row<kp_f32, block_of_row, 0>, block_of_row>(p);        \
	}                                                                                \
	KP_KERNEL(name##_elements_bf16, row_parameters, CUDA_ROW_MOST)                   \
	{                                                                                \
		operation<element_row<kp_bf16, block_of_row, 0>, block_of_row>(p);       \
	}
