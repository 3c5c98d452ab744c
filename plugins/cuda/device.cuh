/* SPDX-License-Identifier: MIT */
/*
 * The instructions of a GPU that these kernels use, each a function, and elements of
 * the two types as f32. Knows no operation. tests/fake/cuda/shim.hh gives the same
 * functions in C++, so that every kernel here also runs on a CPU.
 */
#pragma once

#include <stdint.h>

#ifndef KP_ON_CPU

/* A kernel is a function of one struct; `most` threads a block at most. */
#define KP_KERNEL(kernel, type, most)                                                    \
	extern "C" __global__ void __launch_bounds__(most)                               \
		kernel(const __grid_constant__ struct type p)

/* The same where ptxas must leave room for two blocks a processor, and may take the rest.
 */
#define KP_KERNEL_WIDE(kernel, type, most)                                               \
	extern "C" __global__ void __launch_bounds__(most, 2)                            \
		kernel(const __grid_constant__ struct type p)

/* All shared memory of a kernel is given by its launch. */
#define KP_SHARED(type, name, count)                                                     \
	extern __shared__ uint4 kp_shared_memory[];                                      \
	type *name = reinterpret_cast<type *>(kp_shared_memory)

static __device__ __forceinline__ float kp_exp2(float x)
{
	float y;

	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}

/* Not a number when one of them is none. */
static __device__ __forceinline__ float kp_max(float x, float y)
{
	float z;

	asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
	return z;
}

/* 0 for a finite x over an infinite y. */
static __device__ __forceinline__ float kp_divide(float x, float y)
{
	return __fdividef(x, y);
}

static __device__ __forceinline__ uint32_t kp_pack_bf16(float low, float high)
{
	uint32_t both;

	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
	return both;
}

/* Read once: not kept in L1. Also for memory that the kernel writes. */
static __device__ __forceinline__ uint4 kp_load16(const void *p)
{
	uint4 v;

	asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
		     : "l"(p)
		     : "memory");
	return v;
}

static __device__ __forceinline__ void kp_store16(void *p, uint4 v)
{
	asm volatile("st.global.L1::no_allocate.v4.u32 [%0], {%1, %2, %3, %4};"
		     :
		     : "l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
		     : "memory");
}

/* Of memory that the kernel does not write. */
static __device__ __forceinline__ uint4 kp_load_const16(const void *p)
{
	return __ldg(static_cast<const uint4 *>(p));
}

static __device__ __forceinline__ uint2 kp_load_const8(const void *p)
{
	return __ldg(static_cast<const uint2 *>(p));
}

static __device__ __forceinline__ uint32_t kp_load_const4(const void *p)
{
	return __ldg(static_cast<const uint32_t *>(p));
}

/* Of 16 bytes `bytes` are read, the rest becomes 0. */
static __device__ __forceinline__ void kp_copy_async16(
	void *to, const void *from, unsigned bytes)
{
	unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(to));

	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
		     :
		     : "r"(shared), "l"(from), "r"(bytes)
		     : "memory");
}

static __device__ __forceinline__ void kp_copy_commit(void)
{
	asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Until at most `left` groups of copies are under way. */
template <int left> static __device__ __forceinline__ void kp_copy_wait(void)
{
	asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}

/* Four 8 x 8 matrices of 16 bits; lane 8i + r gives the address of row r of matrix i. */
static __device__ __forceinline__ void kp_load_matrices(
	uint32_t to[4], const void *row, bool transposed)
{
	unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(row));

	if (transposed)
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
			     "{%0, %1, %2, %3}, [%4];"
			     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
			     : "r"(shared)
			     : "memory");
	else
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
			     "{%0, %1, %2, %3}, [%4];"
			     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
			     : "r"(shared)
			     : "memory");
}

/* c += a b for a 16 x 16 and a 16 x 8 matrix that the lanes of a warp hold. */
static __device__ __forceinline__ void kp_multiply_bf16(
	float c[4], const uint32_t a[4], const uint32_t b[2])
{
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
		     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif

enum { KP_WARP = 32 };
#define KP_ALL_LANES 0xffffffffu
#define KP_LOG2_E    1.4426950408889634f

/* ---- elements ---------------------------------------------------------------------- */

struct kp_f32 {
	enum { vector = 4 }; /* elements in 16 bytes */
	float value;

	static __device__ __forceinline__ float get(const kp_f32 *p)
	{
		return p->value;
	}
	static __device__ __forceinline__ void set(kp_f32 *p, float value)
	{
		p->value = value;
	}
	static __device__ __forceinline__ void unpack(uint4 v, float out[vector])
	{
		out[0] = __uint_as_float(v.x);
		out[1] = __uint_as_float(v.y);
		out[2] = __uint_as_float(v.z);
		out[3] = __uint_as_float(v.w);
	}
	static __device__ __forceinline__ uint4 pack(const float in[vector])
	{
		uint4 v;

		v.x = __float_as_uint(in[0]);
		v.y = __float_as_uint(in[1]);
		v.z = __float_as_uint(in[2]);
		v.w = __float_as_uint(in[3]);
		return v;
	}
};

struct kp_bf16 {
	enum { vector = 8 };
	uint16_t bits;

	static __device__ __forceinline__ float get(const kp_bf16 *p)
	{
		return __uint_as_float((uint32_t)p->bits << 16);
	}
	static __device__ __forceinline__ void set(kp_bf16 *p, float value)
	{
		p->bits = (uint16_t)kp_pack_bf16(value, 0);
	}
	static __device__ __forceinline__ void unpack_pair(uint32_t word, float out[2])
	{
		out[0] = __uint_as_float(word << 16);
		out[1] = __uint_as_float(word & 0xffff0000u);
	}
	static __device__ __forceinline__ void unpack(uint4 v, float out[vector])
	{
		unpack_pair(v.x, out);
		unpack_pair(v.y, out + 2);
		unpack_pair(v.z, out + 4);
		unpack_pair(v.w, out + 6);
	}
	static __device__ __forceinline__ uint4 pack(const float in[vector])
	{
		uint4 v;

		v.x = kp_pack_bf16(in[0], in[1]);
		v.y = kp_pack_bf16(in[2], in[3]);
		v.z = kp_pack_bf16(in[4], in[5]);
		v.w = kp_pack_bf16(in[6], in[7]);
		return v;
	}
};
