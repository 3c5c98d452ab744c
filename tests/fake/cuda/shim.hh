/* SPDX-License-Identifier: MIT */
/*
 * Makes a kernel's source compile as C++ for the CPU: included before it. What
 * plugins/cuda/device.cuh does with instructions of a GPU is done here in C++, by
 * the layouts that the PTX manual gives for each.
 */
#ifndef FAKE_CUDA_SHIM_H
#define FAKE_CUDA_SHIM_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tests/fake/cuda/fibers.h"

#define KP_ON_CPU 1
#define __device__
#define __forceinline__ inline
#define threadIdx	fake_thread
#define blockIdx	fake_block
#define blockDim	fake_block_size
#define gridDim		fake_grid_size

/* A kernel is a function of one struct, and is known by its name. */
#define KP_KERNEL(kernel, type, most)                                                    \
	static void kernel(const struct type &p);                                        \
	static void kernel##_run(const void *parameter)                                  \
	{                                                                                \
		kernel(*static_cast<const struct type *>(parameter));                    \
	}                                                                                \
	static fake_twin kernel##_twin = {                                               \
		#kernel, sizeof(struct type), most, kernel##_run, nullptr};              \
	__attribute__((constructor)) static void kernel##_add(void)                      \
	{                                                                                \
		fake_add_twin(&kernel##_twin);                                           \
	}                                                                                \
	static void kernel(const struct type &p)

#define KP_KERNEL_WIDE KP_KERNEL

#define KP_SHARED(type, name, count)                                                     \
	type *name = static_cast<type *>(fake_shared(sizeof(type) * (count)))

struct alignas(8) uint2 {
	uint32_t x, y;
};

struct alignas(16) uint4 {
	uint32_t x, y, z, w;
};

static inline void __syncthreads(void)
{
	fake_sync_block();
}

static inline void __syncwarp(void)
{
	fake_sync_warp();
}

template <typename T> static inline T kp_shuffle_from(T value, unsigned lane)
{
	fake_lane mine = {};
	T out;

	static_assert(sizeof(T) <= sizeof(mine.words), "");
	memcpy(mine.words, &value, sizeof(T));
	memcpy(&out, fake_exchange(&mine)[lane & 31].words, sizeof(T));
	return out;
}

template <typename T> static inline T __shfl_sync(unsigned, T value, int lane)
{
	return kp_shuffle_from(value, (unsigned)lane);
}

template <typename T> static inline T __shfl_xor_sync(unsigned, T value, int mask)
{
	return kp_shuffle_from(value, fake_lane_number() ^ (unsigned)mask);
}

static inline float kp_exp2(float x)
{
	return exp2f(x);
}

static inline float kp_max(float x, float y)
{
	return x != x || x > y ? x : y;
}

static inline float kp_divide(float x, float y)
{
	return x / y;
}

static inline float rsqrtf(float x)
{
	return 1 / sqrtf(x);
}

static inline float __uint_as_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t __float_as_uint(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* To nearest, ties to even. */
static inline uint32_t kp_round_bf16(float value)
{
	uint32_t bits = __float_as_uint(value);

	if (value != value)
		return 0x7fff;
	return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static inline uint32_t kp_pack_bf16(float low, float high)
{
	return kp_round_bf16(low) | kp_round_bf16(high) << 16;
}

/* On a GPU an address that is not a multiple of the width ends the kernel. */
static inline void kp_check_aligned(const void *p, size_t bytes)
{
	if ((uintptr_t)p % bytes)
		fake_die("an address is not aligned to %zu bytes", bytes);
}

static inline uint4 kp_load16(const void *p)
{
	kp_check_aligned(p, 16);
	return *static_cast<const uint4 *>(p);
}

static inline void kp_store16(void *p, uint4 value)
{
	kp_check_aligned(p, 16);
	*static_cast<uint4 *>(p) = value;
}

static inline uint4 kp_load_const16(const void *p)
{
	return kp_load16(p);
}

static inline uint2 kp_load_const8(const void *p)
{
	kp_check_aligned(p, 8);
	return *static_cast<const uint2 *>(p);
}

static inline uint32_t kp_load_const4(const void *p)
{
	kp_check_aligned(p, 4);
	return *static_cast<const uint32_t *>(p);
}

/* ---- copies to shared memory that are waited for ---------------------------------- */

/* A thread's copies happen when they are waited for, not sooner. */
struct kp_copies {
	struct {
		void *to;
		const void *from;
		unsigned bytes, group;
	} items[256];
	unsigned first, end, groups;
};

static kp_copies kp_all_copies[1024];

static inline kp_copies *kp_my_copies(void)
{
	return &kp_all_copies[fake_thread.x];
}

/* `bytes` of 16 are read, the rest is 0. */
static inline void kp_copy_async16(void *to, const void *from, unsigned bytes)
{
	kp_copies *c = kp_my_copies();

	kp_check_aligned(to, 16);
	if (bytes)
		kp_check_aligned(from, 16);
	if (c->end - c->first == 256)
		fake_die("too many copies are under way");
	c->items[c->end++ % 256] = {to, from, bytes, c->groups};
}

static inline void kp_copy_commit(void)
{
	kp_my_copies()->groups++;
}

/* Until at most `left` groups are under way. */
template <int left> static inline void kp_copy_wait(void)
{
	kp_copies *c = kp_my_copies();

	while (c->first != c->end) {
		auto *item = &c->items[c->first % 256];

		if (item->group + left >= c->groups)
			break;
		memset(item->to, 0, 16);
		memcpy(item->to, item->from, item->bytes);
		c->first++;
	}
}

/* ---- matrices of a warp --------------------------------------------------------------
 */

/* ldmatrix: four 8 x 8 matrices of 16 bits; lane 8i + r gives row r of matrix i. */
static inline void kp_load_matrices(uint32_t to[4], const void *row, bool transposed)
{
	const unsigned lane = fake_lane_number();
	fake_lane mine = {};

	kp_check_aligned(row, 16);
	mine.pointer = row;
	const fake_lane *all = fake_exchange(&mine);
	for (unsigned i = 0; i < 4; i++) {
		uint16_t pair[2];

		for (unsigned j = 0; j < 2; j++) {
			unsigned r = lane / 4, c = lane % 4 * 2 + j;
			unsigned from = transposed ? c : r, at = transposed ? r : c;

			pair[j] = static_cast<const uint16_t *>(
				all[i * 8 + from].pointer)[at];
		}
		to[i] = pair[0] | (uint32_t)pair[1] << 16;
	}
	/* Nobody may write the rows before all have read them. */
	fake_sync_warp();
}

static inline float kp_half_of(const fake_lane *lane, unsigned word, unsigned half)
{
	return __uint_as_float(
		half ? lane->words[word] & 0xffff0000u : lane->words[word] << 16);
}

/* mma.m16n8k16, bf16 in, f32 out: c += a b. */
static inline void kp_multiply_bf16(float c[4], const uint32_t a[4], const uint32_t b[2])
{
	const unsigned lane = fake_lane_number();
	fake_lane mine = {};

	memcpy(mine.words, a, 16);
	memcpy(mine.words + 4, b, 8);
	const fake_lane *all = fake_exchange(&mine);
	for (unsigned i = 0; i < 4; i++) {
		unsigned row = lane / 4, column = lane % 4 * 2 + i % 2;

		for (unsigned k = 0; k < 16; k++) {
			/* Where the element of row (or column) and k lies: lane, word,
			 * half. */
			unsigned holder = k % 8 / 2, upper = k / 8;
			float x = kp_half_of(
				&all[row * 4 + holder], upper * 2 + i / 2, k % 2);
			float y = kp_half_of(&all[column * 4 + holder], 4 + upper, k % 2);

			c[i] += x * y;
		}
	}
}

#endif
