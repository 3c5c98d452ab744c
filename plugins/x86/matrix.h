/* SPDX-License-Identifier: MIT */
/* Parts of matrix multiplication: packed panels and the tile computed from them. */
#ifndef X86_MATRIX_H
#define X86_MATRIX_H

#include <stdint.h>

/*
 * A tile is TILE_ROWS x TILE_COLUMNS elements of C: 12 of the 16 registers sum it,
 * the others hold a row of B and an element of A.
 */
enum { TILE_ROWS = 6, TILE_COLUMNS = 16 };

/* A view of a matrix; steps count elements. */
struct matrix {
	float *data;
	int64_t row_step, column_step;
};

static inline float *matrix_at(struct matrix matrix, int64_t row, int64_t column)
{
	return matrix.data + row * matrix.row_step + column * matrix.column_step;
}

/*
 * Copies `rows` x `depth` elements of A into panels of TILE_ROWS rows, each stored
 * column by column, the last one filled up with zeros.
 */
void matrix_pack_rows(struct matrix a, int64_t rows, int64_t depth, float *panels);

/* `depth` x `columns` elements of B into panels of TILE_COLUMNS, row by row. */
void matrix_pack_columns(struct matrix b, int64_t depth, int64_t columns, float *panels);

/*
 * The product of a panel of A and a panel of B, `depth` deep: its first `rows` x
 * `columns` elements go to C, added to what is there when `add`.
 */
void matrix_tile(const float *a, const float *b, int64_t depth, struct matrix c,
	int64_t rows, int64_t columns, int add);

#endif
