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

/* Panels of lines along which elements lie next to each other. */
AVX2 static void pack_lines(
	struct matrix lines, int64_t panels, int64_t depth, int width, float *to)
{
	for (int64_t i = 0; i < panels; i++, to += width * depth) {
		struct matrix part = matrix_part(lines, i * width, 0);

		if (lines.half)
			pack_full(part, 1, depth, width, to);
		else
			pack_full(part, 0, depth, width, to);
	}
}

/*
 * Panels of lines that lie next to each other. Few elements of each at a time: what is
 * read is then long pieces of memory, which the processor fetches ahead.
 */
AVX2 static void pack_columns(
	struct matrix lines, int64_t panels, int64_t depth, int width, float *to)
{
	enum { DEEP = 8 };

	for (int64_t p = 0; p < depth; p += DEEP) {
		for (int64_t i = 0; i < panels; i++) {
			struct matrix part = matrix_part(lines, i * width, p);
			float *panel = to + i * width * depth + p * width;

			if (lines.half)
				pack_side_by_side(
					part, 1, least(depth - p, DEEP), width, panel);
			else
				pack_side_by_side(
					part, 0, least(depth - p, DEEP), width, panel);
		}
	}
}

void matrix_pack(
	struct matrix lines, int64_t count, int64_t depth, int width, float *panels)
{
	int64_t full = count / width, done = 0;

	if (lines.row_step == 1)
		pack_columns(lines, full, depth, width, panels);
	else if (lines.column_step == 1)
		pack_lines(lines, full, depth, width, panels);
	else
		full = 0;
	for (done = full * width; done < count; done += width)
		pack_any(matrix_part(lines, done, 0), least(count - done, width), depth,
			width, panels + done * depth);
}

#endif
