/* SPDX-License-Identifier: MIT */
/* elementwise/square: y = x * x. */
#include "kernels.h"
#include "operand.h"

enum { X, Y, ROLES };

static const struct operand roles[ROLES] = {
	{"x", "n", KP_CODE_FLOAT, 0},
	{"y", "n", KP_CODE_FLOAT, 0},
};

static int run(const struct kp_call *call)
{
	const struct kp_tensor *t[ROLES];
	struct extents extents;
	int status = operands_take(call, roles, ROLES, t, &extents);

	if (status != KP_OK)
		return status;
	for (int64_t i = 0; i < extent(&extents, 'n'); i++) {
		double x = ((const float *)t[X]->data)[i * t[X]->strides[0]];

		((float *)t[Y]->data)[i * t[Y]->strides[0]] = (float)(x * x);
	}
	return KP_OK;
}

const struct kp_kernel elementwise_square = {KP_SIZED(struct kp_kernel), .run = run};
