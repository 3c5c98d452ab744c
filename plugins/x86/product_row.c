/* SPDX-License-Identifier: MIT */
/*
 * Products of one row and a matrix, which is read once, as it lies. The sums are
 * those of a product by blocks, in the same order.
 */
#include <string.h>

#include "half.h"
#include "product.h"

#if defined(__x86_64__)

/* Columns that are a task, and rows that are read at a time. */
enum { COLUMNS = 512, ROWS = 4 };

/* Bytes of the matrix below which threads cost more than they bring. */
enum { WORTH_SHARING = 512 << 10 };

/* Some elements of the row, and the block of the matrix that they meet. */
struct strip {
	const float *factors;
	struct matrix b;
	int64_t depth, columns;
	float *sums;
};

/* The sums of columns that follow each other in memory, from these rows on. */
INLINE_AVX2 void add_rows(const struct strip *strip, int half, int64_t p, int count)
{
	const char *b = matrix_at(strip->b, p, 0);
	int64_t bytes = half ? 2 : 4, step = strip->b.row_step * bytes, j = 0;

	for (; j + LANES <= strip->columns; j += LANES) {
		__m256 sum = _mm256_loadu_ps(strip->sums + j);

#pragma GCC unroll 4
		for (int i = 0; i < count; i++)
			sum = _mm256_fmadd_ps(_mm256_broadcast_ss(strip->factors + p + i),
				lanes_load(b + i * step + j * bytes, half), sum);
		_mm256_storeu_ps(strip->sums + j, sum);
	}
	for (; j < strip->columns; j++)
		for (int i = 0; i < count; i++)
			strip->sums[j] = __builtin_fmaf(strip->factors[p + i],
				element_get(b + i * step + j * bytes, half),
				strip->sums[j]);
}

INLINE_AVX2 void by_rows(const struct strip *strip, int half)
{
	int64_t p = 0;

	for (; p + ROWS <= strip->depth; p += ROWS)
		add_rows(strip, half, p, ROWS);
	for (; p < strip->depth; p++)
		add_rows(strip, half, p, 1);
}

/* One column, element by element. */
INLINE_AVX2 void add_column(const struct strip *strip, int half, int64_t j, int64_t p)
{
	struct matrix b = strip->b;

	b.half = half;
	for (; p < strip->depth; p++)
		strip->sums[j] = __builtin_fmaf(strip->factors[p],
			element_get(matrix_at(b, p, j), half), strip->sums[j]);
}

/* Eight columns, each of which lies next to itself: eight elements deep at a time. */
INLINE_AVX2 void add_columns(const struct strip *strip, int half, int64_t j)
{
	__m256 sum = _mm256_setzero_ps();
	struct matrix b = strip->b;
	int64_t p = 0;

	b.half = half;
	for (; p + LANES <= strip->depth; p += LANES) {
		__m256 values[LANES];

#pragma GCC unroll 8
		for (int i = 0; i < LANES; i++)
			values[i] = lanes_load(matrix_at(b, p, j + i), half);
		lanes_transpose(values);
#pragma GCC unroll 8
		for (int i = 0; i < LANES; i++)
			sum = _mm256_fmadd_ps(_mm256_broadcast_ss(strip->factors + p + i),
				values[i], sum);
	}
	_mm256_storeu_ps(strip->sums + j, sum);
	for (int i = 0; i < LANES; i++)
		add_column(strip, half, j + i, p);
}

INLINE_AVX2 void by_columns(const struct strip *strip, int half)
{
	int64_t j = 0;

	for (; strip->b.row_step == 1 && j + LANES <= strip->columns; j += LANES)
		add_columns(strip, half, j);
	for (; j < strip->columns; j++)
		add_column(strip, half, j, 0);
}

AVX2 static void add_strip(const struct strip *strip)
{
	if (strip->b.column_step == 1 && strip->b.half)
		by_rows(strip, 1);
	else if (strip->b.column_step == 1)
		by_rows(strip, 0);
	else if (strip->b.half)
		by_columns(strip, 1);
	else
		by_columns(strip, 0);
}

/* Columns [j, j + columns) of C. */
static void multiply_columns(const struct product *product, int64_t j, int64_t columns)
{
	float factors[MATRIX_DEPTH], sums[COLUMNS], totals[COLUMNS];
	struct strip strip = {.factors = factors, .columns = columns, .sums = sums};

	for (int64_t p = 0; p < product->k; p += strip.depth) {
		strip.depth = least(product->k - p, MATRIX_DEPTH);
		strip.b = matrix_part(product->b, p, j);
		memset(sums, 0, sizeof(sums));
		for (int64_t i = 0; i < strip.depth; i++)
			factors[i] = element_get(
				matrix_at(product->a, 0, p + i), product->a.half);
		add_strip(&strip);
		for (int64_t i = 0; i < columns; i++)
			totals[i] = p > 0 ? totals[i] + sums[i] : sums[i];
	}
	matrix_store(totals, 0, matrix_part(product->c, 0, j), 1, columns, 0);
}

static int multiply_task(void *arg, uint64_t i)
{
	const struct product *product = arg;
	int64_t j = (int64_t)i * COLUMNS;

	multiply_columns(product, j, least(product->n - j, COLUMNS));
	return KP_OK;
}

int product_of_row(const struct product *product, const struct kp_host *host)
{
	struct product shared = *product;
	double bytes =
		(double)product->n * (double)product->k * (product->b.half ? 2 : 4);

	return product_share(host, bytes >= WORTH_SHARING,
		(uint64_t)((product->n + COLUMNS - 1) / COLUMNS), multiply_task, &shared);
}

#endif
