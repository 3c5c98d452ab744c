/* SPDX-License-Identifier: MIT */
/*
 * gemm/mm by blocks: a block of B stays in the last cache, a block of A in the
 * second, a panel of B in the first (Goto and van de Geijn, "Anatomy of
 * High-Performance Matrix Multiplication"). An element is summed in the same order
 * whatever m and n are. The host has checked the call against the family.
 */
#include "kernels.h"
#include "matrix.h"
#include "processor.h"

enum { A, B, C };

/* Extents of the blocks; whole tiles. */
enum {
	BLOCK_ROWS = 24 * TILE_ROWS,
	BLOCK_DEPTH = 256,
	BLOCK_COLUMNS = 192 * TILE_COLUMNS
};

/* The panels start on a cache line. */
enum { ALIGN = 64 };

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t whole(int64_t count, int64_t unit)
{
	return (count + unit - 1) / unit * unit;
}

/* Bytes of the packed block of A, rounded up, and of both blocks. */
static uint64_t rows_bytes(int64_t m, int64_t k)
{
	uint64_t elements = (uint64_t)whole(least(m, BLOCK_ROWS), TILE_ROWS) *
			    (uint64_t)least(k, BLOCK_DEPTH);

	return (elements * sizeof(float) + ALIGN - 1) / ALIGN * ALIGN;
}

static uint64_t workspace_bytes(int64_t m, int64_t n, int64_t k)
{
	uint64_t columns = (uint64_t)whole(least(n, BLOCK_COLUMNS), TILE_COLUMNS);

	return rows_bytes(m, k) +
	       columns * (uint64_t)least(k, BLOCK_DEPTH) * sizeof(float);
}

static int need(const struct kp_call *call, struct kp_need *need)
{
	need->workspace_bytes = workspace_bytes(call->tensors[C]->shape[0],
		call->tensors[C]->shape[1], call->tensors[A]->shape[1]);
	need->workspace_align = ALIGN;
	return KP_OK;
}

#if defined(__x86_64__)

/* One block: packed panels of A (rows) and B (columns), depth deep, into C. */
struct block {
	const float *a, *b;
	struct matrix c;
	int64_t rows, columns, depth;
	int add;
};

static void multiply_block(const struct block *block)
{
	for (int64_t j = 0; j < block->columns; j += TILE_COLUMNS) {
		for (int64_t i = 0; i < block->rows; i += TILE_ROWS) {
			struct matrix tile = block->c;

			tile.data = matrix_at(block->c, i, j);
			matrix_tile(block->a + i * block->depth,
				block->b + j * block->depth, block->depth, tile,
				least(block->rows - i, TILE_ROWS),
				least(block->columns - j, TILE_COLUMNS), block->add);
		}
	}
}

struct product {
	struct matrix a, b, c;
	int64_t m, n, k;
	float *packed_a, *packed_b;
};

static struct matrix part(struct matrix matrix, int64_t row, int64_t column)
{
	matrix.data = matrix_at(matrix, row, column);
	return matrix;
}

/* Columns [j, j + columns) of C, from rows [p, p + depth) of B. */
static void multiply_slice(
	const struct product *product, int64_t j, int64_t columns, int64_t p)
{
	struct block block = {.a = product->packed_a,
		.b = product->packed_b,
		.columns = columns,
		.depth = least(product->k - p, BLOCK_DEPTH),
		.add = p > 0};

	matrix_pack_columns(
		part(product->b, p, j), block.depth, columns, product->packed_b);
	for (int64_t i = 0; i < product->m; i += BLOCK_ROWS) {
		block.rows = least(product->m - i, BLOCK_ROWS);
		block.c = part(product->c, i, j);
		matrix_pack_rows(part(product->a, i, p), block.rows, block.depth,
			product->packed_a);
		multiply_block(&block);
	}
}

static void zero(struct matrix c, int64_t m, int64_t n)
{
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++)
			*matrix_at(c, i, j) = 0;
}

static struct matrix view(const struct kp_tensor *tensor)
{
	struct matrix matrix = {tensor->data, tensor->strides[0], tensor->strides[1]};

	return matrix;
}

static int run(const struct kp_call *call)
{
	struct product product = {.a = view(call->tensors[A]),
		.b = view(call->tensors[B]),
		.c = view(call->tensors[C]),
		.m = call->tensors[C]->shape[0],
		.n = call->tensors[C]->shape[1],
		.k = call->tensors[A]->shape[1]};

	if (call->workspace_bytes < workspace_bytes(product.m, product.n, product.k))
		return processor_fail(
			call->error, KP_INVALID, "the workspace is too small");
	if (product.k == 0)
		zero(product.c, product.m, product.n);
	if (product.k == 0 || product.m == 0)
		return KP_OK;
	product.packed_a = call->workspace;
	product.packed_b =
		product.packed_a + rows_bytes(product.m, product.k) / sizeof(float);
	for (int64_t j = 0; j < product.n; j += BLOCK_COLUMNS)
		for (int64_t p = 0; p < product.k; p += BLOCK_DEPTH)
			multiply_slice(
				&product, j, least(product.n - j, BLOCK_COLUMNS), p);
	return KP_OK;
}

#else

static int run(const struct kp_call *call)
{
	return processor_available(NULL, call->error);
}

#endif

const struct kp_kernel gemm_mm = {KP_SIZED(struct kp_kernel), .run = run,
	.available = processor_available, .need = need};
