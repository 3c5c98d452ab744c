/* SPDX-License-Identifier: MIT */
/* activation/silu_mul on the host: checks, and one launch. */
#include "kernels.h"
#include "map.h"

enum { GATE, UP, OUT, ROLES };

static const struct operand roles[ROLES] = {{.name = "gate", .dims = "rn"},
	{.name = "up", .dims = "rn"}, {.name = "out", .dims = "rn"}};

static const struct module_source source =
	MAP_SOURCE(silu_mul, activation_silu_mul_image);

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

	return status == KP_OK ? map_run(call, t.tensor[GATE], t.tensor[UP],
					 t.tensor[OUT], t.bf16)
			       : status;
}

const struct kp_kernel activation_silu_mul = {KP_SIZED(struct kp_kernel), .run = run,
	.available = module_available, .load = load, .unload = module_unload};
