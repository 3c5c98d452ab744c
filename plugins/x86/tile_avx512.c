/* SPDX-License-Identifier: MIT */
/* The inner loop of matrix multiplication, with AVX-512. Knows panels, no matrices. */
#include "matrix.h"
#include "processor.h"

#if defined(__x86_64__)
#include <immintrin.h>

/* 24 of the 32 registers sum; the others hold a row of B and elements of A. */
enum { LANES = 16, ROWS = 12, COLUMNS = 2 * LANES };

AVX512 static void multiply(const float *a, const float *b, int64_t b_step, int64_t depth,
	float *out, int64_t step, int add)
{
	__m512 sums[ROWS][2];

#pragma GCC unroll 12
	for (int i = 0; i < ROWS; i++) {
		sums[i][0] = sums[i][1] = _mm512_setzero_ps();
		__builtin_prefetch(out + i * step, 1);
		__builtin_prefetch(out + i * step + COLUMNS - 1, 1);
	}
	for (int64_t p = 0; p < depth; p++) {
		__m512 low = _mm512_loadu_ps(b), high = _mm512_loadu_ps(b + LANES);

#pragma GCC unroll 12
		for (int i = 0; i < ROWS; i++) {
			__m512 factor = _mm512_set1_ps(a[i]);

			sums[i][0] = _mm512_fmadd_ps(factor, low, sums[i][0]);
			sums[i][1] = _mm512_fmadd_ps(factor, high, sums[i][1]);
		}
		a += ROWS;
		b += b_step;
	}
#pragma GCC unroll 12
	for (int i = 0; i < ROWS; i++, out += step) {
#pragma GCC unroll 2
		for (int j = 0; j < 2; j++) {
			__m512 sum = sums[i][j];

			if (add)
				sum = _mm512_add_ps(
					sum, _mm512_loadu_ps(out + j * LANES));
			_mm512_storeu_ps(out + j * LANES, sum);
		}
	}
}

const struct tile tile_avx512 = {ROWS, COLUMNS, multiply};

#endif
