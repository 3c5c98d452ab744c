/* SPDX-License-Identifier: MIT */
/*
 * The functions of the CUDA driver that this plugin calls, found in libcuda.so.1 when
 * it is opened: a plugin that was linked to it would not load where there is none.
 * Declared here, since the toolkit is needed for kernels only.
 */
#ifndef CUDA_DRIVER_H
#define CUDA_DRIVER_H

#include <stddef.h>

#include "kplug/plugin.h"

/* CUresult, CUdevice. */
typedef int cuda_result;
typedef int cuda_device;

struct cuda_module;
struct cuda_function;

/* The numbers of CUresult that mean something here. */
enum {
	CUDA_OK = 0,
	CUDA_OUT_OF_MEMORY = 2,
	CUDA_NO_DEVICE = 100,
	CUDA_INVALID_IMAGE = 200,
	CUDA_NO_BINARY = 209,
	CUDA_UNSUPPORTED_PTX = 222,
	CUDA_DRIVER_MISMATCH = 803
};

enum { CUDA_ATTRIBUTE_PROCESSORS = 16, CUDA_FUNCTION_SHARED_MEMORY = 8 };

struct driver {
	void *library;
	cuda_result (*init)(unsigned flags);
	cuda_result (*version)(int *version);
	cuda_result (*error_name)(cuda_result result, const char **name);
	cuda_result (*error_string)(cuda_result result, const char **text);
	cuda_result (*device_count)(int *count);
	cuda_result (*current_context)(void **context);
	cuda_result (*current_device)(cuda_device *device);
	cuda_result (*device_attribute)(int *value, int attribute, cuda_device device);
	cuda_result (*module_load)(struct cuda_module **module, const void *image);
	cuda_result (*module_unload)(struct cuda_module *module);
	cuda_result (*module_function)(struct cuda_function **function,
		struct cuda_module *module, const char *name);
	cuda_result (*function_set)(
		struct cuda_function *function, int attribute, int value);
	cuda_result (*clear)(unsigned long long to, size_t pitch, unsigned char value,
		size_t width, size_t height, void *stream);
	cuda_result (*launch)(struct cuda_function *function, unsigned grid_x,
		unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
		unsigned block_z, unsigned shared_bytes, void *stream, void **parameters,
		void **extra);
};

/*
 * Opens the library and finds its functions; initializes nothing. KP_UNAVAILABLE: the
 * library cannot be opened, or has not a function. Once opened it stays in the process.
 */
int driver_open(struct driver *driver, struct kp_error *error);
void driver_close(struct driver *driver);

/*
 * Is there a driver that is new enough, and a device? Creates no context. What is
 * missing is KP_UNAVAILABLE, with the driver's own number.
 */
int driver_check(const struct driver *driver, struct kp_error *error);

/*
 * The status that a result of the driver means, after saying what failed: "what: NAME
 * (number): text".
 */
int driver_failure(const struct driver *driver, cuda_result result,
	struct kp_error *error, const char *what);

#endif
