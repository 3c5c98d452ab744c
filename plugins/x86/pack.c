/* SPDX-License-Identifier: MIT */
/* Copies lines of matrices into panels. Knows nothing of what is made of them. */
#include "half.h"
#include "matrix.h"

#if defined(__x86_64__)

/* The first `count` of eight lanes; count is 8, 6, 4 or 2. */
INLINE_AVX2 void store_some(float *out, __m256 values, int count)
{
	__m128 low = _mm256_castps256_ps128(values);

	if (count == LANES) {
		_mm256_storeu_ps(out, values);
		return;
	}
	if (count >= 4) {
		_mm_storeu_ps(out, low);
		low = _mm256_extractf128_ps(values, 1);
		out += 4;
	}
	if (count % 4)
		_mm_storel_pi((__m64 *)out, low);
}

/* Lines as they come: one element after the other, zeros for those that lack. */
static void pack_any(
	struct matrix lines, int64_t count, int64_t depth, int width, float *panel)
{
	for (int64_t p = 0; p < depth; p++, panel += width) {
		for (int64_t i = 0; i < count; i++)
			panel[i] = element_get(matrix_at(lines, i, p), lines.half);
		for (int64_t i = count; i < width; i++)
			panel[i] = 0;
	}
}

/* Lines that lie next to each other: an element of each is read at once. */
INLINE_AVX2 void pack_side_by_side(
	struct matrix lines, int half, int64_t depth, int width, float *panel)
{
	lines.half = half;
	for (int64_t p = 0; p < depth; p++, panel += width) {
		int i = 0;

		for (; i + LANES <= width; i += LANES)
			_mm256_storeu_ps(
				panel + i, lanes_load(matrix_at(lines, i, p), half));
		for (; i < width; i++)
			panel[i] = element_get(matrix_at(lines, i, p), half);
	}
}

/* Eight lines or fewer along which elements lie next to each other. */
INLINE_AVX2 void pack_along(
	struct matrix lines, int half, int count, int64_t depth, int width, float *panel)
{
	int64_t p = 0;

	lines.half = half;
	for (; p + LANES <= depth; p += LANES) {
		__m256 values[LANES];

#pragma GCC unroll 8
		for (int i = 0; i < LANES; i++)
			values[i] = i < count ? lanes_load(matrix_at(lines, i, p), half)
					      : _mm256_setzero_ps();
		lanes_transpose(values);
#pragma GCC unroll 8
		for (int i = 0; i < LANES; i++)
			store_some(panel + (p + i) * width, values[i], count);
	}
	for (; p < depth; p++)
		for (int i = 0; i < count; i++)
			panel[p * width + i] = element_get(matrix_at(lines, i, p), half);
}

INLINE_AVX2 void pack_full(
	struct matrix lines, int half, int64_t depth, int width, float *panel)
{
	int i = 0;

	if (lines.row_step == 1) {
		pack_side_by_side(lines, half, depth, width, panel);
		return;
	}
	for (; i + LANES <= width; i += LANES)
		pack_along(
			matrix_part(lines, i, 0), half, LANES, depth, width, panel + i);
	if (width - i == 6)
		pack_along(matrix_part(lines, i, 0), half, 6, depth, width, panel + i);
	else if (width - i == 4)
		pack_along(matrix_part(lines, i, 0), half, 4, depth, width, panel + i);
	else if (width - i == 2)
		pack_along(matrix_part(lines, i, 0), half, 2, depth, width, panel + i);
}

AVX2 static void pack_panel(struct matrix lines, int64_t depth, int width, float *panel)
{
	if (lines.half)
		pack_full(lines, 1, depth, width, panel);
	else
		pack_full(lines, 0, depth, width, panel);
}

void matrix_pack(
	struct matrix lines, int64_t count, int64_t depth, int width, float *panels)
{
	for (int64_t i = 0; i < count; i += width, panels += width * depth) {
		struct matrix part = matrix_part(lines, i, 0);

		if (count - i >= width && (part.row_step == 1 || part.column_step == 1))
			pack_panel(part, depth, width, panels);
		else
			pack_any(part, least(count - i, width), depth, width, panels);
	}
}

#endif
