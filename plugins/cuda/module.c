/* SPDX-License-Identifier: MIT */
/* Loads fatbins into the current context and launches what is in them. */
#include "module.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "failure.h"

/* What every function may use without asking; most blocks of a grid along x and y. */
enum { SHARED_PLAIN = 48 * 1024, BLOCKS_X = 0x7fffffff, BLOCKS_Y = 65535 };

static int find_functions(
	const struct module_source *source, struct module *module, struct kp_error *error)
{
	const struct driver *driver = &module->driver;

	for (unsigned i = 0; i < source->n_functions; i++) {
		const char *name = source->functions[i].name;
		int shared = source->functions[i].shared_bytes;
		cuda_result result = driver->module_function(
			&module->functions[i], module->handle, name);

		if (result == CUDA_OK && shared > SHARED_PLAIN)
			result = driver->function_set(module->functions[i],
				CUDA_FUNCTION_SHARED_MEMORY, shared);
		if (result != CUDA_OK)
			return driver_failure(driver, result, error, name);
	}
	return KP_OK;
}

/* The context is the application's: it is looked at and left as it is. */
static int find_device(struct module *module, struct kp_error *error)
{
	const struct driver *driver = &module->driver;
	void *context = NULL;
	cuda_device device = 0;
	cuda_result result = driver->current_context(&context);

	if (result == CUDA_OK && !context)
		return failure(error, KP_INVALID, 0,
			"no CUDA context is current: the application makes one");
	if (result == CUDA_OK)
		result = driver->current_device(&device);
	if (result == CUDA_OK)
		result = driver->device_attribute(
			&module->processors, CUDA_ATTRIBUTE_PROCESSORS, device);
	return result == CUDA_OK
		       ? KP_OK
		       : driver_failure(driver, result, error, "the current context");
}

int module_load(
	const struct module_source *source, struct module **out, struct kp_error *error)
{
	struct module *module = calloc(1, sizeof(*module));
	int status;

	if (!module)
		return failure(error, KP_NO_MEMORY, 0, "no memory for a module's handle");
	status = driver_open(&module->driver, error);
	if (status == KP_OK)
		status = find_device(module, error);
	if (status == KP_OK && source) {
		cuda_result result =
			module->driver.module_load(&module->handle, source->image);

		if (result != CUDA_OK) {
			module->handle = NULL;
			status = driver_failure(
				&module->driver, result, error, "loading the kernels");
		} else {
			status = find_functions(source, module, error);
		}
	}
	if (status != KP_OK) {
		module_free(module);
		return status;
	}
	*out = module;
	return KP_OK;
}

void module_free(struct module *module)
{
	if (!module)
		return;
	/* Nobody hears of a failure here; the context takes the module with it. */
	if (module->handle)
		(void)module->driver.module_unload(module->handle);
	driver_close(&module->driver);
	free(module);
}

int module_launch(const struct module *module, const struct kp_call *call,
	const struct launch *launch, void *parameters)
{
	void *list[] = {parameters};

	if (launch->blocks > BLOCKS_X || launch->rows > BLOCKS_Y)
		return failure(call->error, KP_UNSUPPORTED, 0,
			"a grid of %" PRId64 " by %" PRId64 " blocks is too large",
			launch->blocks, launch->rows);
	cuda_result result = module->driver.launch(module->functions[launch->function],
		(unsigned)launch->blocks, (unsigned)launch->rows, 1, launch->threads, 1,
		1, launch->shared_bytes, call->stream, list, NULL);

	return result == CUDA_OK ? KP_OK
				 : driver_failure(&module->driver, result, call->error,
					   "cuLaunchKernel");
}

int module_available(const struct kp_device *device, struct kp_error *error)
{
	struct driver driver;
	int status;

	if (device && KP_COVERS(device, type) && device->type != KP_DEVICE_CUDA)
		return failure(error, KP_UNAVAILABLE, 0, "a CUDA device is needed");
	status = driver_open(&driver, error);
	if (status != KP_OK)
		return status;
	status = driver_check(&driver, error);
	driver_close(&driver);
	return status;
}

void module_unload(void *state, void *device_state)
{
	(void)state;
	module_free(device_state);
}

const struct module *module_of(const struct kp_call *call)
{
	if (!call->device_state)
		(void)failure(call->error, KP_INVALID, 0, "load was not called");
	return call->device_state;
}
