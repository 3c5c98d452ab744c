/* SPDX-License-Identifier: MIT */
/* Symbols and errors of the CUDA driver. */
#include "daemon/worker/cuda.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#include "daemon/worker/symbols.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"

enum { ILLEGAL_ADDRESS = 700 };

static const struct symbol symbols[] = {
	{"cuInit", offsetof(struct cuda, init)},
	{"cuGetErrorName", offsetof(struct cuda, error_name)},
	{"cuGetErrorString", offsetof(struct cuda, error_string)},
	{"cuDeviceGetCount", offsetof(struct cuda, count)},
	{"cuDeviceGet", offsetof(struct cuda, get)},
	{"cuDeviceGetPCIBusId", offsetof(struct cuda, address)},
	{"cuDeviceGetUuid_v2", offsetof(struct cuda, uuid)},
	{"cuDeviceGetAttribute", offsetof(struct cuda, attribute)},
	{"cuDevicePrimaryCtxRetain", offsetof(struct cuda, retain)},
	{"cuDevicePrimaryCtxRelease_v2", offsetof(struct cuda, release)},
	{"cuCtxSetCurrent", offsetof(struct cuda, set_current)},
	{"cuCtxGetCurrent", offsetof(struct cuda, get_current)},
	{"cuMemGetInfo_v2", offsetof(struct cuda, memory)},
	{"cuMemAlloc_v2", offsetof(struct cuda, allocate)},
	{"cuMemFree_v2", offsetof(struct cuda, free)},
	{"cuMemcpyHtoD_v2", offsetof(struct cuda, put)},
	{"cuMemcpyDtoH_v2", offsetof(struct cuda, take)},
	{"cuMemcpyDtoDAsync_v2", offsetof(struct cuda, copy)},
	{"cuMemsetD8_v2", offsetof(struct cuda, fill)},
	{"cuStreamCreate", offsetof(struct cuda, stream_create)},
	{"cuStreamSynchronize", offsetof(struct cuda, stream_wait)},
	{"cuStreamBeginCapture_v2", offsetof(struct cuda, capture_begin)},
	{"cuStreamEndCapture", offsetof(struct cuda, capture_end)},
	{"cuGraphInstantiateWithFlags", offsetof(struct cuda, graph_instantiate)},
	{"cuGraphLaunch", offsetof(struct cuda, graph_launch)},
	{"cuGraphExecDestroy", offsetof(struct cuda, graph_exec_destroy)},
	{"cuGraphDestroy", offsetof(struct cuda, graph_destroy)},
	{"cuEventCreate", offsetof(struct cuda, event_create)},
	{"cuEventDestroy_v2", offsetof(struct cuda, event_destroy)},
	{"cuEventRecord", offsetof(struct cuda, event_record)},
	{"cuEventSynchronize", offsetof(struct cuda, event_wait)},
	{"cuEventElapsedTime", offsetof(struct cuda, event_elapsed)},
};

static int unavailable(struct kp_diag *diag, const char *why)
{
	char clean[512];

	kp_text_clean(why ? why : "", clean, sizeof(clean));
	return kp_diag_set(diag, "unavailable", "libcuda.so.1",
		"the CUDA driver cannot be used: %s", clean);
}

int cuda_open(struct cuda *cuda, struct kp_diag *diag)
{
	struct kp_diag cause;
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return unavailable(diag, dlerror());
	const char *missing = symbols_find(library, symbols, KP_COUNT(symbols), cuda);
	if (missing) {
		char why[64];
		(void)snprintf(why, sizeof(why), "it has no %s", missing);
		return unavailable(diag, why);
	}
	if (cuda_check(cuda, cuda->init(0), "cuInit", &cause) < 0)
		return unavailable(diag, cause.message);
	return 0;
}

int cuda_check(
	const struct cuda *cuda, int result, const char *what, struct kp_diag *diag)
{
	const char *name = NULL, *text = NULL;

	if (result == 0)
		return 0;
	(void)cuda->error_name(result, &name);
	(void)cuda->error_string(result, &text);
	return kp_diag_set(diag, result == ILLEGAL_ADDRESS ? "out_of_bounds" : "error",
		what, "%s: %s (%d)%s%s", what, name ? name : "an error without a name",
		result, text ? ": " : "", text ? text : "");
}
