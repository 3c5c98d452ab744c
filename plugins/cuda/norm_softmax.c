/* SPDX-License-Identifier: MIT */
/* norm/softmax on the host: checks, and one launch. */
#include "kernels.h"
#include "rows.h"

enum { X, Y, ROLES };

static const struct operand roles[ROLES] = {
	{.name = "x", .dims = "rn"}, {.name = "y", .dims = "rn"}};

static const struct module_source source = ROWS_SOURCE(softmax, norm_softmax_image);

static int load(void *state, const struct kp_device *device, void **device_state,
	struct kp_error *error)
{
	(void)state;
	(void)device;
	return module_load(&source, (struct module **)device_state, error);
}

static int run(const struct kp_call *call)
{
	struct operands t;
	int status = operands_take(call, roles, ROLES, &t);

	return status == KP_OK ? rows_run(call, t.tensor[X], NULL, t.tensor[Y], t.bf16, 0)
			       : status;
}

const struct kp_kernel norm_softmax = {KP_SIZED(struct kp_kernel), .run = run,
	.available = module_available, .load = load, .unload = module_unload};
