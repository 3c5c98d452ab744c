/* SPDX-License-Identifier: MIT */
/*
 * Parts of matrix multiplication: views of matrices, packed panels and the tiles
 * computed from them. All sums are f32, whatever the elements in memory are.
 */
#ifndef X86_MATRIX_H
#define X86_MATRIX_H

#include <stdint.h>

/* A view of a matrix of f32 or, with half, of bf16; steps count elements. */
struct matrix {
	void *data;
	int64_t row_step, column_step;
	int half;
};

static inline void *matrix_at(struct matrix matrix, int64_t row, int64_t column)
{
	int64_t skip = row * matrix.row_step + column * matrix.column_step;

	return (char *)matrix.data + skip * (matrix.half ? 2 : 4);
}

/* What starts at this element. */
static inline struct matrix matrix_part(struct matrix matrix, int64_t row, int64_t column)
{
	matrix.data = matrix_at(matrix, row, column);
	return matrix;
}

static inline struct matrix matrix_transposed(struct matrix matrix)
{
	int64_t step = matrix.row_step;

	matrix.row_step = matrix.column_step;
	matrix.column_step = step;
	return matrix;
}

static inline int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The most products that are summed before the sum is added to C. */
enum { MATRIX_DEPTH = 256 };

/*
 * Copies `count` lines (rows of this view), `depth` elements each, into panels of
 * `width` lines, element p of line i at panel[p * width + i]; the last panel is
 * filled up with zeros. width is even.
 */
void matrix_pack(
	struct matrix lines, int64_t count, int64_t depth, int width, float *panels);

/*
 * A tile of rows x columns elements of C, kept in registers while it is summed.
 * multiply: the product of a panel of A and `columns` of B, `depth` deep, whose rows are
 * b_step apart (that of a panel is `columns`), goes to `out`, whose rows are `step`
 * apart, added to what is there when `add`.
 */
struct tile {
	int rows, columns;
	void (*multiply)(const float *a, const float *b, int64_t b_step, int64_t depth,
		float *out, int64_t step, int add);
};
enum { TILE_ELEMENTS_MOST = 512 };
extern const struct tile tile_avx2, tile_avx512;

/*
 * Stores rows x columns of f32, rows `step` apart, in C; added to what is there when
 * `add`, which is for f32 only.
 */
void matrix_store(const float *from, int64_t step, struct matrix c, int64_t rows,
	int64_t columns, int add);

#endif
