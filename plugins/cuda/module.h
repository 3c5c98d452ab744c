/* SPDX-License-Identifier: MIT */
/* The code of one kernel on one device: what `load` makes of a fatbin. */
#ifndef CUDA_MODULE_H
#define CUDA_MODULE_H

#include "driver.h"

enum { MODULE_FUNCTIONS = 32 };

/* A kernel's functions on the device by name, in the order that its source uses. */
struct module_source {
	const void *image; /* a fatbin */
	unsigned n_functions;
	struct {
		const char *name;
		int shared_bytes; /* of a launch, or 0: raised where it is above 48 KiB */
	} functions[MODULE_FUNCTIONS];
};

struct module {
	struct driver driver;
	struct cuda_module *handle;
	struct cuda_function *functions[MODULE_FUNCTIONS];
	int processors; /* of the device */
};

/*
 * Loads into the application's current context. KP_INVALID without one, KP_UNSUPPORTED
 * where the fatbin has no code for the device. *out is for module_free.
 */
int module_load(
	const struct module_source *source, struct module **out, struct kp_error *error);
void module_free(struct module *module);

/* A grid of blocks of threads, both along x (y: rows of a grid). */
struct launch {
	unsigned function;
	int64_t blocks, rows;
	unsigned threads, shared_bytes;
};

/*
 * Enqueues a function on the call's stream, and does nothing else. `parameters` is the
 * one struct that it takes. KP_UNSUPPORTED for more blocks than a grid has.
 */
int module_launch(const struct module *module, const struct kp_call *call,
	const struct launch *launch, void *parameters);

/* For the vtables: is a device here that any kernel of this plugin could run on? */
int module_available(const struct kp_device *device, struct kp_error *error);
void module_unload(void *state, void *device_state);

/* The module of a call; NULL after saying that load was not called. */
const struct module *module_of(const struct kp_call *call);

#endif
