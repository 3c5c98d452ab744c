/* SPDX-License-Identifier: MIT */
/* Copies parts of matrices into panels. Knows nothing of what is made of them. */
#include "matrix.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "processor.h"

/* A panel of `width` lines; element p of line i goes to panel[p * width + i]. */
static void pack_panel(
	struct matrix lines, int64_t count, int64_t depth, int width, float *panel)
{
	for (int64_t p = 0; p < depth; p++, panel += width) {
		const float *from = lines.data + p * lines.column_step;

		for (int64_t i = 0; i < count; i++)
			panel[i] = from[i * lines.row_step];
		for (int64_t i = count; i < width; i++)
			panel[i] = 0;
	}
}

void matrix_pack_rows(struct matrix a, int64_t rows, int64_t depth, float *panels)
{
	for (int64_t i = 0; i < rows; i += TILE_ROWS, panels += TILE_ROWS * depth) {
		struct matrix lines = a;
		int64_t count = rows - i < TILE_ROWS ? rows - i : TILE_ROWS;

		lines.data = matrix_at(a, i, 0);
		pack_panel(lines, count, depth, TILE_ROWS, panels);
	}
}

void matrix_pack_columns(struct matrix b, int64_t depth, int64_t columns, float *panels)
{
	for (int64_t j = 0; j < columns;
		j += TILE_COLUMNS, panels += TILE_COLUMNS * depth) {
		struct matrix lines = {matrix_at(b, 0, j), b.column_step, b.row_step};
		int64_t count = columns - j < TILE_COLUMNS ? columns - j : TILE_COLUMNS;

		if (count == TILE_COLUMNS && b.column_step == 1) {
			for (int64_t p = 0; p < depth; p++)
				memcpy(panels + p * TILE_COLUMNS,
					lines.data + p * b.row_step,
					TILE_COLUMNS * sizeof(float));
			continue;
		}
		pack_panel(lines, count, depth, TILE_COLUMNS, panels);
	}
}

#endif
