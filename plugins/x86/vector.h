/* SPDX-License-Identifier: MIT */
/*
 * Registers of floats, of 8 with AVX2 and of 16 with AVX-512 (VECTOR_512), and lines
 * of elements in memory that are read into them and written from them. Knows no
 * operation.
 */
#ifndef X86_VECTOR_H
#define X86_VECTOR_H

#include "processor.h"

/* A kernel whose source is compiled once for each width, and what it asks for. */
#if defined(VECTOR_512)
#define KERNEL(name) name##_avx512
#define AVAILABLE    processor_available_avx512_bf16
#else
#define KERNEL(name) name
#define AVAILABLE    processor_available
#endif

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Bodies take the form of their lines as a constant: they must be inlined. */
#define INLINE static inline __attribute__((always_inline))

#if defined(VECTOR_512)
#define VECTOR AVX512_BF16
typedef __m512 vector;
typedef __m512i words;
enum { LANES = 16 };
#define OP(name)      _mm512_##name
#define BITS(name)    _mm512_##name##_si512
#define CAST_WORDS(v) _mm512_castps_si512(v)
#define CAST_FLOAT(v) _mm512_castsi512_ps(v)
#define LOW_LANES(v)  _mm512_castps512_ps128(v)
#else
#define VECTOR	      AVX2
typedef __m256 vector;
typedef __m256i words;
enum { LANES = 8 };
#define OP(name)      _mm256_##name
#define BITS(name)    _mm256_##name##_si256
#define CAST_WORDS(v) _mm256_castps_si256(v)
#define CAST_FLOAT(v) _mm256_castsi256_ps(v)
#define LOW_LANES(v)  _mm256_castps256_ps128(v)
#endif

/* Elements that are handled at a time, and the bytes that a full cache line has. */
enum { STEP = 2 * LANES, CACHE_LINE = 64 };

/* What an element is, and whether elements lie next to each other. */
enum form { F32_DENSE, BF16_DENSE, F32_SPREAD, BF16_SPREAD };

/* Elements from `data` on, `step` bytes from one to the next. */
struct line {
	char *data;
	int64_t step;
};

/*
 * STEP elements as floats. Of f32 `a` holds the first half and `b` the second; of
 * bf16, where that costs nothing, `a` the even ones and `b` the odd.
 */
struct pair {
	vector a, b;
};

INLINE int64_t form_bytes(enum form form)
{
	return form == F32_DENSE || form == F32_SPREAD ? 4 : 2;
}

INLINE int form_is_bf16(enum form form)
{
	return form_bytes(form) == 2;
}

/* The same element in lines that lie next to each other. */
INLINE enum form form_dense(enum form form)
{
	return form_bytes(form) == 4 ? F32_DENSE : BF16_DENSE;
}

INLINE char *line_at(struct line line, int64_t i, enum form form)
{
	int64_t step = form == form_dense(form) ? form_bytes(form) : line.step;

	return line.data + i * step;
}

VECTOR INLINE vector vector_all(float value)
{
	return OP(set1_ps)(value);
}

VECTOR INLINE float vector_sum(vector v)
{
#if defined(VECTOR_512)
	return _mm512_reduce_add_ps(v);
#else
	__m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
	__m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));

	return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
#endif
}

VECTOR INLINE float vector_max(vector v)
{
#if defined(VECTOR_512)
	return _mm512_reduce_max_ps(v);
#else
	__m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
	__m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));

	return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
#endif
}

/* STEP elements next to each other. */
VECTOR INLINE struct pair pair_read(const char *at, enum form form)
{
	struct pair pair;

	if (form_bytes(form) == 4) {
		pair.a = OP(loadu_ps)((const float *)at);
		pair.b = OP(loadu_ps)((const float *)at + LANES);
	} else {
		words both = BITS(loadu)((const void *)at);

		pair.a = CAST_FLOAT(OP(slli_epi32)(both, 16));
		pair.b = CAST_FLOAT(BITS(and)(both, OP(set1_epi32)((int)0xffff0000)));
	}
	return pair;
}

#if defined(VECTOR_512)

/* The instruction takes what is smaller than a normal float for 0. */
VECTOR INLINE words pair_narrow(struct pair pair)
{
	static const uint16_t order[2 * LANES] = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5,
		21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30,
		15, 31};

	return _mm512_permutexvar_epi16(
		_mm512_loadu_si512(order), (words)_mm512_cvtne2ps_pbh(pair.b, pair.a));
}

#else

/*
 * The bits of the nearest bf16, ties to even, in the upper half of each word. A NaN
 * here comes from a bf16 or from the processor: its low half is 0, so that the
 * sum does not carry into its sign.
 */
VECTOR INLINE words vector_round(vector v)
{
	words bits = CAST_WORDS(v);
	words odd = BITS(and)(OP(srli_epi32)(bits, 16), OP(set1_epi32)(1));

	return OP(add_epi32)(bits, OP(add_epi32)(odd, OP(set1_epi32)(0x7fff)));
}

VECTOR INLINE words pair_narrow(struct pair pair)
{
	words even = OP(srli_epi32)(vector_round(pair.a), 16);

	return _mm256_blend_epi16(even, vector_round(pair.b), 0xaa);
}

#endif

/* Past the caches where `streamed`: `at` is then aligned to a register. */
VECTOR INLINE void pair_write(char *at, struct pair pair, enum form form, int streamed)
{
	if (form_bytes(form) == 4 && streamed) {
		OP(stream_ps)((float *)at, pair.a);
		OP(stream_ps)((float *)at + LANES, pair.b);
	} else if (form_bytes(form) == 4) {
		OP(storeu_ps)((float *)at, pair.a);
		OP(storeu_ps)((float *)at + LANES, pair.b);
	} else if (streamed) {
		BITS(stream)((words *)(void *)at, pair_narrow(pair));
	} else {
		BITS(storeu)((void *)at, pair_narrow(pair));
	}
}

/* Copies elements, each by itself. */
INLINE void elements_copy(char *to, int64_t to_step, const char *from, int64_t from_step,
	int64_t count, enum form form)
{
	for (int64_t i = 0; i < count; i++)
		memcpy(to + i * to_step, from + i * from_step, (size_t)form_bytes(form));
}

/* `count` elements from i on, at most STEP; those that lack are `rest`. */
VECTOR INLINE struct pair line_load_part(
	struct line line, int64_t i, int64_t count, enum form form, float rest)
{
	char elements[STEP * sizeof(float)] __attribute__((aligned(CACHE_LINE)));
	struct pair filled = {vector_all(rest), vector_all(rest)};
	int64_t bytes = form_bytes(form);

	if (count < STEP)
		pair_write(elements, filled, form, 0);
	elements_copy(elements, bytes, line_at(line, i, form),
		form == form_dense(form) ? bytes : line.step, count, form);
	return pair_read(elements, form);
}

VECTOR INLINE struct pair line_load(struct line line, int64_t i, enum form form)
{
	if (form == form_dense(form))
		return pair_read(line_at(line, i, form), form);
	return line_load_part(line, i, STEP, form, 0);
}

VECTOR INLINE void line_store_part(
	struct line line, int64_t i, int64_t count, struct pair pair, enum form form)
{
	char elements[STEP * sizeof(float)] __attribute__((aligned(CACHE_LINE)));
	int64_t bytes = form_bytes(form);

	pair_write(elements, pair, form, 0);
	elements_copy(line_at(line, i, form),
		form == form_dense(form) ? bytes : line.step, elements, bytes, count,
		form);
}

VECTOR INLINE void line_store(
	struct line line, int64_t i, struct pair pair, enum form form, int streamed)
{
	if (form == form_dense(form))
		pair_write(line_at(line, i, form), pair, form, streamed);
	else
		line_store_part(line, i, STEP, pair, form);
}

/* Elements before the first that is aligned to a cache line, at most n. */
INLINE int64_t line_before_aligned(struct line line, int64_t n, enum form form)
{
	int64_t bytes = (int64_t)(-(uintptr_t)line.data & (CACHE_LINE - 1));

	return bytes / form_bytes(form) < n ? bytes / form_bytes(form) : n;
}

/*
 * Asks for the STEP elements from i on, to come while others are computed: into the
 * second cache, since into the first they would push out those.
 */
VECTOR INLINE void line_prefetch(struct line line, int64_t i, enum form form)
{
	const char *at = line_at(line, i, form);

	for (int64_t byte = 0; byte < STEP * form_bytes(form); byte += CACHE_LINE)
		_mm_prefetch(at + byte, _MM_HINT_T1);
}

/* One element as a number, and back: what is too odd for registers. */
INLINE double line_get(struct line line, int64_t i, enum form form)
{
	uint32_t bits = 0;
	float value;

	memcpy((char *)&bits + 4 - form_bytes(form), line_at(line, i, form),
		(size_t)form_bytes(form));
	memcpy(&value, &bits, sizeof(value));
	return value;
}

VECTOR INLINE void line_put(struct line line, int64_t i, double value, enum form form)
{
	struct pair pair = {vector_all((float)value), vector_all((float)value)};

	line_store_part(line, i, 1, pair, form);
}

#endif
#endif
