/* SPDX-License-Identifier: MIT */
/* The inner loop of matrix multiplication. Knows panels, no matrices. */
#include "matrix.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "processor.h"

struct sums {
	__m256 of[TILE_ROWS][2];
};

AVX2 static inline __attribute__((always_inline)) struct sums multiply(
	const float *a, const float *b, int64_t depth)
{
	struct sums sums;

	for (int i = 0; i < TILE_ROWS; i++)
		sums.of[i][0] = sums.of[i][1] = _mm256_setzero_ps();
	for (int64_t p = 0; p < depth; p++) {
		__m256 low = _mm256_load_ps(b), high = _mm256_load_ps(b + 8);

#pragma GCC unroll 6
		for (int i = 0; i < TILE_ROWS; i++) {
			__m256 factor = _mm256_broadcast_ss(a + i);

			sums.of[i][0] = _mm256_fmadd_ps(factor, low, sums.of[i][0]);
			sums.of[i][1] = _mm256_fmadd_ps(factor, high, sums.of[i][1]);
		}
		a += TILE_ROWS;
		b += TILE_COLUMNS;
	}
	return sums;
}

AVX2 static inline __attribute__((always_inline)) void store(
	const struct sums *sums, float *out, int64_t step, int add)
{
#pragma GCC unroll 6
	for (int i = 0; i < TILE_ROWS; i++, out += step) {
		__m256 low = sums->of[i][0], high = sums->of[i][1];

		if (add) {
			low = _mm256_add_ps(low, _mm256_loadu_ps(out));
			high = _mm256_add_ps(high, _mm256_loadu_ps(out + 8));
		}
		_mm256_storeu_ps(out, low);
		_mm256_storeu_ps(out + 8, high);
	}
}

static void copy(
	const float *tile, struct matrix c, int64_t rows, int64_t columns, int add)
{
	for (int64_t i = 0; i < rows; i++) {
		for (int64_t j = 0; j < columns; j++) {
			float *out = matrix_at(c, i, j);

			*out = tile[i * TILE_COLUMNS + j] + (add ? *out : 0);
		}
	}
}

AVX2 void matrix_tile(const float *a, const float *b, int64_t depth, struct matrix c,
	int64_t rows, int64_t columns, int add)
{
	struct sums sums = multiply(a, b, depth);
	float tile[TILE_ROWS * TILE_COLUMNS];

	if (rows == TILE_ROWS && columns == TILE_COLUMNS && c.column_step == 1) {
		store(&sums, c.data, c.row_step, add);
		return;
	}
	store(&sums, tile, TILE_COLUMNS, 0);
	copy(tile, c, rows, columns, add);
}

#endif
