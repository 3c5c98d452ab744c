/* SPDX-License-Identifier: MIT */
/* Reads the three matrices of a product. */
#include "matrix.h"

enum { A, B, C, ROLES };

static const struct operand roles[ROLES] = {{.name = "a", .dims = "mk"},
	{.name = "b", .dims = "kn"}, {.name = "c", .dims = "mn"}};

int matrix_take(
	const struct kp_call *call, struct gemm_parameters *product, bool *is_bf16)
{
	struct operands t;
	int status = operands_take(call, roles, ROLES, &t);

	if (status != KP_OK)
		return status;
	*is_bf16 = t.bf16;
	*product = (struct gemm_parameters){
		.a = t.tensor[A]->data,
		.b = t.tensor[B]->data,
		.c = t.tensor[C]->data,
		.m = extent(&t, 'm'),
		.n = extent(&t, 'n'),
		.k = extent(&t, 'k'),
		.a_row = operand_step(t.tensor[A], 0),
		.a_column = operand_step(t.tensor[A], 1),
		.b_row = operand_step(t.tensor[B], 0),
		.b_column = operand_step(t.tensor[B], 1),
		.c_row = operand_step(t.tensor[C], 0),
		.c_column = operand_step(t.tensor[C], 1),
	};
	return KP_OK;
}

int64_t matrix_tiles(const struct gemm_parameters *product, int edge)
{
	int64_t down = product->m / edge + (product->m % edge != 0);
	int64_t across = product->n / edge + (product->n % edge != 0);
	int64_t tiles;

	/* More than any grid has: refused where it is launched. */
	return __builtin_mul_overflow(down, across, &tiles) ? INT64_MAX : tiles;
}

int64_t matrix_line(int64_t inner, int64_t outer, int64_t length, int64_t lines)
{
	if (length > 1 && inner != 1)
		return 0;
	if (lines <= 1)
		return length > 1 ? length : 1;
	return outer >= length && outer > 0 ? outer : 0;
}
