/* SPDX-License-Identifier: MIT */
/* The inner loop of matrix multiplication, with AVX2, and the way of sums into C. */
#include "half.h"
#include "matrix.h"

#if defined(__x86_64__)

/* 12 of the 16 registers sum; the others hold a row of B and an element of A. */
enum { ROWS = 6, COLUMNS = 2 * LANES };

AVX2 static void multiply(const float *a, const float *b, int64_t b_step, int64_t depth,
	float *out, int64_t step, int add)
{
	__m256 sums[ROWS][2];

#pragma GCC unroll 6
	for (int i = 0; i < ROWS; i++) {
		sums[i][0] = sums[i][1] = _mm256_setzero_ps();
		__builtin_prefetch(out + i * step + COLUMNS - 1, 1);
	}
	for (int64_t p = 0; p < depth; p++) {
		__m256 low = _mm256_loadu_ps(b), high = _mm256_loadu_ps(b + LANES);

#pragma GCC unroll 6
		for (int i = 0; i < ROWS; i++) {
			__m256 factor = _mm256_broadcast_ss(a + i);

			sums[i][0] = _mm256_fmadd_ps(factor, low, sums[i][0]);
			sums[i][1] = _mm256_fmadd_ps(factor, high, sums[i][1]);
		}
		a += ROWS;
		b += b_step;
	}
#pragma GCC unroll 6
	for (int i = 0; i < ROWS; i++, out += step) {
#pragma GCC unroll 2
		for (int j = 0; j < 2; j++) {
			__m256 sum = sums[i][j];

			if (add)
				sum = _mm256_add_ps(
					sum, _mm256_loadu_ps(out + j * LANES));
			_mm256_storeu_ps(out + j * LANES, sum);
		}
	}
}

const struct tile tile_avx2 = {ROWS, COLUMNS, multiply};

AVX2 static void store_line(const float *from, void *to, int half, int64_t columns)
{
	int64_t j = 0;

	for (; j + LANES <= columns; j += LANES)
		lanes_store(
			(char *)to + j * (half ? 2 : 4), half, _mm256_loadu_ps(from + j));
	for (; j < columns; j++)
		element_set((char *)to + j * (half ? 2 : 4), half, from[j]);
}

static void add_line(const float *from, struct matrix c, int64_t row, int64_t columns)
{
	for (int64_t j = 0; j < columns; j++)
		*(float *)matrix_at(c, row, j) += from[j];
}

void matrix_store(const float *from, int64_t step, struct matrix c, int64_t rows,
	int64_t columns, int add)
{
	for (int64_t i = 0; i < rows; i++, from += step) {
		if (add)
			add_line(from, c, i, columns);
		else if (c.column_step == 1)
			store_line(from, matrix_at(c, i, 0), c.half, columns);
		else
			for (int64_t j = 0; j < columns; j++)
				element_set(matrix_at(c, i, j), c.half, from[j]);
	}
}

#endif
