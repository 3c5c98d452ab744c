/* SPDX-License-Identifier: MIT */
/* elementwise/square: y = x * x. */
#include "kernels.h"
#include "operand.h"

enum { X, Y, ROLES };

static const struct operand roles[ROLES] = {
	{"x", "n", REAL, 0},
	{"y", "n", REAL, 0},
};

static int run(const struct kp_call *call)
{
	const struct kp_tensor *t[ROLES];
	struct extents extents;
	struct row x, y;
	int status = operands_take(call, roles, ROLES, t, &extents);

	if (status != KP_OK)
		return status;
	x = operand_line(t[X], 0, 0);
	y = operand_line(t[Y], 0, 0);
	for (int64_t i = 0; i < extent(&extents, 'n'); i++)
		row_set(y, i, row_get(x, i) * row_get(x, i));
	return KP_OK;
}

const struct kp_kernel elementwise_square = {KP_SIZED(struct kp_kernel), .run = run};
