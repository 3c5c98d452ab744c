/* SPDX-License-Identifier: MIT */
/*
 * Products by blocks: a block of B stays in the last cache, a block of A in the
 * second, a panel of B in the first (Goto and van de Geijn, "Anatomy of
 * High-Performance Matrix Multiplication"). An element is summed in the same order
 * whatever m, n and the number of threads are.
 */
#include "product.h"

#if defined(__x86_64__)

/* Extents of a slice, and of the blocks that are a task; whole tiles of each kind. */
enum {
	SLICE_ROWS = 16 * 144,
	SLICE_COLUMNS = 12 * 256,
	BLOCK_ROWS = 144,
	BLOCK_COLUMNS = 256
};

/* Floating-point operations below which threads cost more than they bring. */
static const double worth_sharing = 4e6;

/* So few rows of A use a panel of B that packing it costs more than it brings. */
static const int64_t few_rows = 96;

/* Rows and columns of C, made from `depth` columns of A and rows of B. */
struct slice {
	const struct product *product;
	int64_t row, rows, column, columns, from, depth;
	int64_t row_blocks, column_blocks;
	float *a, *b;	  /* packed */
	int b_as_it_lies; /* but for a last tile that is not whole */
	float *sums;	  /* of whole tiles, until they go to C in bf16; or NULL */
	int64_t sums_step;
};

static int64_t whole(int64_t count, int64_t unit)
{
	return (count + unit - 1) / unit * unit;
}

static int64_t blocks(int64_t count, int64_t unit)
{
	return (count + unit - 1) / unit;
}

/* ---- workspace ------------------------------------------------------------------- */

struct room {
	uint64_t a, b, sums; /* bytes, whole cache lines */
};

static uint64_t lines_of(int64_t rows, int64_t columns)
{
	uint64_t bytes = (uint64_t)rows * (uint64_t)columns * sizeof(float);

	return (bytes + PRODUCT_ALIGN - 1) / PRODUCT_ALIGN * PRODUCT_ALIGN;
}

static struct room room_of(const struct product *product)
{
	int64_t rows = whole(least(product->m, SLICE_ROWS), product->tile->rows);
	int64_t columns = whole(least(product->n, SLICE_COLUMNS), product->tile->columns);
	int64_t depth = least(product->k, MATRIX_DEPTH);
	struct room room = {.a = lines_of(rows, depth), .b = lines_of(columns, depth)};

	if (product->c.half && product->k > MATRIX_DEPTH)
		room.sums = lines_of(rows, columns);
	return room;
}

uint64_t product_workspace(const struct product *product)
{
	struct room room = room_of(product);

	return room.a + room.b + room.sums;
}

/* ---- one block ------------------------------------------------------------------- */

static void pack_rows(const struct slice *slice, int64_t block)
{
	const struct product *product = slice->product;
	int64_t i = block * BLOCK_ROWS;

	matrix_pack(matrix_part(product->a, slice->row + i, slice->from),
		least(slice->rows - i, BLOCK_ROWS), slice->depth, product->tile->rows,
		slice->a + i * slice->depth);
}

static void pack_columns(const struct slice *slice, int64_t block)
{
	const struct product *product = slice->product;
	int64_t j = block * BLOCK_COLUMNS, end = least(slice->columns, j + BLOCK_COLUMNS);
	struct matrix b;

	if (slice->b_as_it_lies)
		j = end - end % product->tile->columns;
	b = matrix_part(product->b, slice->from, slice->column + j);
	matrix_pack(matrix_transposed(b), end - j, slice->depth, product->tile->columns,
		slice->b + j * slice->depth);
}

/* The tile at (i, j) of the slice. */
static void multiply_tile(const struct slice *slice, int64_t i, int64_t j)
{
	const struct product *product = slice->product;
	const struct tile *tile = product->tile;
	const float *a = slice->a + i * slice->depth, *b = slice->b + j * slice->depth;
	int64_t b_step = tile->columns;
	struct matrix c = matrix_part(product->c, slice->row + i, slice->column + j);
	int64_t rows = least(slice->rows - i, tile->rows);
	int64_t columns = least(slice->columns - j, tile->columns);
	int add = slice->from > 0;
	_Alignas(PRODUCT_ALIGN) float made[TILE_ELEMENTS_MOST];

	if (slice->b_as_it_lies && columns == tile->columns) {
		b = matrix_at(product->b, slice->from, slice->column + j);
		b_step = product->b.row_step;
	}
	if (slice->sums) {
		float *sums = slice->sums + i * slice->sums_step + j;

		tile->multiply(a, b, b_step, slice->depth, sums, slice->sums_step, add);
		if (slice->from + slice->depth == product->k)
			matrix_store(sums, slice->sums_step, c, rows, columns, 0);
	} else if (rows == tile->rows && columns == tile->columns && c.column_step == 1 &&
		   !c.half) {
		tile->multiply(a, b, b_step, slice->depth, c.data, c.row_step, add);
	} else {
		tile->multiply(a, b, b_step, slice->depth, made, tile->columns, 0);
		matrix_store(made, tile->columns, c, rows, columns, add);
	}
}

static void multiply_block(const struct slice *slice, int64_t row, int64_t column)
{
	const struct tile *tile = slice->product->tile;
	int64_t rows_end = least(slice->rows, (row + 1) * BLOCK_ROWS);
	int64_t columns_end = least(slice->columns, (column + 1) * BLOCK_COLUMNS);

	for (int64_t j = column * BLOCK_COLUMNS; j < columns_end; j += tile->columns)
		for (int64_t i = row * BLOCK_ROWS; i < rows_end; i += tile->rows)
			multiply_tile(slice, i, j);
}

/* ---- tasks ----------------------------------------------------------------------- */

int product_share(const struct kp_host *host, int worthwhile, uint64_t n,
	int (*task)(void *arg, uint64_t i), void *arg)
{
	int status = KP_OK;

	if (worthwhile && n > 1 && host && KP_COVERS(host, parallel_for) &&
		host->parallel_for)
		return host->parallel_for(host->context, n, task, arg);
	for (uint64_t i = 0; i < n && status == KP_OK; i++)
		status = task(arg, i);
	return status;
}

static int pack_task(void *arg, uint64_t i)
{
	const struct slice *slice = arg;
	int64_t block = (int64_t)i;

	if (block < slice->column_blocks)
		pack_columns(slice, block);
	else
		pack_rows(slice, block - slice->column_blocks);
	return KP_OK;
}

static int multiply_task(void *arg, uint64_t i)
{
	const struct slice *slice = arg;
	int64_t block = (int64_t)i;

	multiply_block(slice, block / slice->column_blocks, block % slice->column_blocks);
	return KP_OK;
}

static int multiply_slice(struct slice *slice, const struct kp_host *host)
{
	const struct product *product = slice->product;
	int worthwhile =
		2.0 * (double)product->m * (double)product->n * (double)product->k >=
		worth_sharing;
	int status;

	if (host && KP_COVERS(host, cancelled) && host->cancelled &&
		host->cancelled(host->context))
		return KP_CANCELLED;
	status = product_share(host, worthwhile,
		(uint64_t)(slice->column_blocks + slice->row_blocks), pack_task, slice);
	if (status == KP_OK)
		status = product_share(host, worthwhile,
			(uint64_t)(slice->column_blocks * slice->row_blocks),
			multiply_task, slice);
	return status;
}

/* All of the depth for these rows and columns of C. */
static int multiply_slices(struct slice *slice, const struct kp_host *host)
{
	int status = KP_OK;

	slice->row_blocks = blocks(slice->rows, BLOCK_ROWS);
	slice->column_blocks = blocks(slice->columns, BLOCK_COLUMNS);
	for (slice->from = 0; slice->from < slice->product->k && status == KP_OK;
		slice->from += slice->depth) {
		slice->depth = least(slice->product->k - slice->from, MATRIX_DEPTH);
		status = multiply_slice(slice, host);
	}
	return status;
}

int product_by_blocks(
	const struct product *product, const struct kp_host *host, void *workspace)
{
	struct room room = room_of(product);
	struct slice slice = {.product = product,
		.a = workspace,
		.b = (float *)((char *)workspace + room.a),
		.b_as_it_lies = product->b.column_step == 1 && !product->b.half &&
				product->m <= few_rows};
	int status = KP_OK;

	if (room.sums)
		slice.sums = (float *)((char *)workspace + room.a + room.b);
	for (slice.column = 0; slice.column < product->n && status == KP_OK;
		slice.column += slice.columns) {
		slice.columns = least(product->n - slice.column, SLICE_COLUMNS);
		slice.sums_step = whole(slice.columns, product->tile->columns);
		for (slice.row = 0; slice.row < product->m && status == KP_OK;
			slice.row += slice.rows) {
			slice.rows = least(product->m - slice.row, SLICE_ROWS);
			status = multiply_slices(&slice, host);
		}
	}
	return status;
}

#endif
