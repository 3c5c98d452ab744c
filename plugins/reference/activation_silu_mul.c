/* SPDX-License-Identifier: MIT */
/* activation/silu_mul: the gate of a gated feed-forward layer. */
#include <math.h>

#include "kernels.h"
#include "operand.h"

enum { GATE, UP, OUT, ROLES };

static const struct operand roles[ROLES] = {
	{"gate", "rn", REAL, 0},
	{"up", "rn", REAL, 0},
	{"out", "rn", REAL, 0},
};

/* x / (1 + exp(-x)); for large negative x, where exp overflows, it is -0. */
static double silu(double x)
{
	return x / (1 + exp(-x));
}

static void silu_mul(struct row gate, struct row up, struct row out, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		row_set(out, i, silu(row_get(gate, i)) * row_get(up, i));
}

static int run(const struct kp_call *call)
{
	const struct kp_tensor *t[ROLES];
	struct extents extents;
	int status = operands_take(call, roles, ROLES, t, &extents);

	if (status != KP_OK)
		return status;
	for (int64_t i = 0; i < extent(&extents, 'r'); i++)
		silu_mul(operand_row(t[GATE], i), operand_row(t[UP], i),
			operand_row(t[OUT], i), extent(&extents, 'n'));
	return KP_OK;
}

const struct kp_kernel activation_silu_mul = {KP_SIZED(struct kp_kernel), .run = run};
