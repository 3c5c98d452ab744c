/* SPDX-License-Identifier: MIT */
/* Opens libcuda.so.1 and says in words what is missing or went wrong. */
#include "driver.h"

#include <dlfcn.h>
#include <string.h>

#include "failure.h"
#include "symbols.h"

static const char soname[] = "libcuda.so.1";

/* The oldest driver that reads fatbins that are compressed to be small: CUDA 12.4. */
enum { OLDEST = 12040 };

static const struct symbol functions[] = {
	{"cuInit", offsetof(struct driver, init)},
	{"cuDriverGetVersion", offsetof(struct driver, version)},
	{"cuGetErrorName", offsetof(struct driver, error_name)},
	{"cuGetErrorString", offsetof(struct driver, error_string)},
	{"cuDeviceGetCount", offsetof(struct driver, device_count)},
	{"cuCtxGetCurrent", offsetof(struct driver, current_context)},
	{"cuCtxGetDevice", offsetof(struct driver, current_device)},
	{"cuDeviceGetAttribute", offsetof(struct driver, device_attribute)},
	{"cuModuleLoadData", offsetof(struct driver, module_load)},
	{"cuModuleUnload", offsetof(struct driver, module_unload)},
	{"cuModuleGetFunction", offsetof(struct driver, module_function)},
	{"cuFuncSetAttribute", offsetof(struct driver, function_set)},
	{"cuMemsetD2D8Async", offsetof(struct driver, clear)},
	{"cuLaunchKernel", offsetof(struct driver, launch)},
};
enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

void driver_close(struct driver *driver)
{
	if (driver->library)
		dlclose(driver->library);
	driver->library = NULL;
}

int driver_open(struct driver *driver, struct kp_error *error)
{
	memset(driver, 0, sizeof(*driver));
	/* It starts threads: its code must not go away below them. */
	driver->library = dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!driver->library)
		return failure(error, KP_UNAVAILABLE, 0,
			"%s cannot be opened: %s; is an NVIDIA driver installed?", soname,
			dlerror());
	const char *missing = symbols_find(driver->library, functions, FUNCTIONS, driver);
	if (missing) {
		driver_close(driver);
		return failure(error, KP_UNAVAILABLE, 0,
			"%s has no function %s: the driver is too old", soname, missing);
	}
	return KP_OK;
}

/* By the ranges of CUresult: see the CUDA driver API, "Data types used by CUDA driver".
 */
static int status_of(cuda_result result)
{
	switch (result) {
	case CUDA_OK:
		return KP_OK;
	case CUDA_OUT_OF_MEMORY:
		return KP_NO_MEMORY;
	case CUDA_NO_DEVICE:
	case CUDA_DRIVER_MISMATCH:
	case 34:  /* a stub of the library */
	case 46:  /* the device is busy or in another's hands */
	case 101: /* no such device */
	case 804: /* compatibility mode is not for this device */
	case 802: /* the system is not ready: fabric manager */
		return KP_UNAVAILABLE;
	case CUDA_INVALID_IMAGE:
	case CUDA_NO_BINARY:
	case CUDA_UNSUPPORTED_PTX:
		return KP_UNSUPPORTED;
	case 1:	  /* invalid value */
	case 201: /* invalid context */
	case 400: /* invalid handle */
		return KP_INVALID;
	case 214: /* uncorrectable ECC error */
	case 220: /* NVLink error */
	case 700: /* illegal address */
	case 702: /* timeout */
	case 709: /* context is destroyed */
	case 714: /* hardware stack error */
	case 715: /* illegal instruction */
	case 716: /* misaligned address */
	case 717: /* invalid address space */
	case 718: /* invalid program counter */
	case 719: /* launch failed */
	case 720: /* cooperative launch too large leaves the context unusable */
		return KP_DEVICE_LOST;
	default:
		return KP_RUNTIME;
	}
}

int driver_failure(const struct driver *driver, cuda_result result,
	struct kp_error *error, const char *what)
{
	const char *name = NULL, *text = NULL;

	if (driver->error_name(result, &name) != CUDA_OK || !name)
		name = "an unknown error";
	if (driver->error_string(result, &text) != CUDA_OK || !text)
		text = "the driver has no text for it";
	return failure(error, status_of(result), result, "%s: %s (%d): %s", what, name,
		result, text);
}

/* Whatever the number, what cannot be asked is not there. */
static int unavailable(const struct driver *driver, cuda_result result,
	struct kp_error *error, const char *what)
{
	(void)driver_failure(driver, result, error, what);
	if (error && KP_COVERS(error, status))
		error->status = KP_UNAVAILABLE;
	return KP_UNAVAILABLE;
}

int driver_check(const struct driver *driver, struct kp_error *error)
{
	int version = 0, count = 0;
	cuda_result result = driver->version(&version);

	if (result != CUDA_OK)
		return unavailable(driver, result, error, "cuDriverGetVersion");
	if (version < OLDEST)
		return failure(error, KP_UNAVAILABLE, version,
			"the driver is for CUDA %d.%d; this plugin needs one for CUDA "
			"%d.%d "
			"or later",
			version / 1000, version % 1000 / 10, OLDEST / 1000,
			OLDEST % 1000 / 10);
	result = driver->init(0);
	if (result != CUDA_OK)
		return unavailable(driver, result, error, "cuInit");
	result = driver->device_count(&count);
	if (result != CUDA_OK)
		return unavailable(driver, result, error, "cuDeviceGetCount");
	if (count == 0)
		return failure(error, KP_UNAVAILABLE, CUDA_NO_DEVICE,
			"the driver finds no CUDA device");
	return KP_OK;
}
