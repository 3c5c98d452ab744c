/* SPDX-License-Identifier: MIT */
/* Eight elements of f32 or bf16 between memory and a register. Knows no matrix. */
#ifndef X86_HALF_H
#define X86_HALF_H

#include <stdint.h>
#include <string.h>

#include "processor.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum { LANES = 8 };

#define INLINE_AVX2 AVX2 static inline __attribute__((always_inline))

static inline float half_value(uint16_t half)
{
	uint32_t bits = (uint32_t)half << 16;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* The nearest bf16, ties to even; a NaN stays one. */
static inline uint16_t half_nearest(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if (value != value)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float element_get(const void *at, int half)
{
	return half ? half_value(*(const uint16_t *)at) : *(const float *)at;
}

static inline void element_set(void *at, int half, float value)
{
	if (half)
		*(uint16_t *)at = half_nearest(value);
	else
		*(float *)at = value;
}

/* Eight elements that lie next to each other. */
INLINE_AVX2 __m256 lanes_load(const void *at, int half)
{
	__m128i halves;

	if (!half)
		return _mm256_loadu_ps(at);
	halves = _mm_loadu_si128(at);
	return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

/* The eight values in bf16, rounded like half_nearest. */
INLINE_AVX2 __m128i lanes_halves(__m256 values)
{
	__m256i bits = _mm256_castps_si256(values), upper = _mm256_srli_epi32(bits, 16);
	__m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
	__m256i nearest = _mm256_srli_epi32(
		_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))),
		16);
	__m256i none = _mm256_castps_si256(_mm256_cmp_ps(values, values, _CMP_UNORD_Q));
	__m256i made = _mm256_blendv_epi8(
		nearest, _mm256_or_si256(upper, _mm256_set1_epi32(0x40)), none);

	return _mm_packus_epi32(
		_mm256_castsi256_si128(made), _mm256_extracti128_si256(made, 1));
}

INLINE_AVX2 void lanes_store(void *at, int half, __m256 values)
{
	if (half)
		_mm_storeu_si128(at, lanes_halves(values));
	else
		_mm256_storeu_ps(at, values);
}

/* Rows to columns, in place. */
INLINE_AVX2 void lanes_transpose(__m256 rows[LANES])
{
	__m256 pairs[LANES], fours[LANES];

#pragma GCC unroll 4
	for (int i = 0; i < LANES; i += 2) {
		pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
		pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
	}
#pragma GCC unroll 2
	for (int i = 0; i < LANES; i += 4) {
		fours[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
		fours[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
		fours[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
		fours[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
	}
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		rows[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
		rows[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
	}
}

#endif
#endif
