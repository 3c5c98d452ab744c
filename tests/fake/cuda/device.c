/* SPDX-License-Identifier: MIT */
/* Devices and contexts of the fake driver. */
#include <stdio.h>
#include <string.h>

#include "tests/fake/cuda/fake.h"

/* A primary context of a device, which is all the contexts that there are. */
struct fake_context {
	int device;
	unsigned users;
};

enum { DEPTH = 16 };

static bool initialized;
static struct fake_context contexts[FAKE_DEVICES];
static __thread struct fake_context *stack[DEPTH];
static __thread size_t depth;

bool fake_initialized(void)
{
	return initialized;
}

struct fake_context *fake_current(void)
{
	return depth > 0 ? stack[depth - 1] : NULL;
}

void fake_device_reset(void)
{
	initialized = false;
	memset(contexts, 0, sizeof(contexts));
	depth = 0;
}

int cuInit(unsigned flags)
{
	FAKE_CALL();
	if (flags != 0)
		return FAKE_INVALID_VALUE;
	if (fake_settings()->devices == 0)
		return FAKE_NO_DEVICE;
	initialized = true;
	return FAKE_OK;
}

/* As in the real one, it answers before cuInit. */
int cuDriverGetVersion(int *version)
{
	__attribute__((cleanup(fake_leave))) struct fake_call call = fake_enter(__func__);

	if (call.result != FAKE_OK && call.result != FAKE_NOT_INITIALIZED)
		return call.result;
	*version = fake_settings()->version;
	return FAKE_OK;
}

static const struct {
	int code;
	const char *name, *text;
} errors[] = {
	{0, "CUDA_SUCCESS", "no error"},
	{1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
	{34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
	{46, "CUDA_ERROR_DEVICE_UNAVAILABLE",
		"CUDA-capable device(s) is/are busy or unavailable"},
	{100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
	{201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
		"no kernel image is available for execution on the device"},
	{214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
	{222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
		"the provided PTX was compiled with an unsupported toolchain."},
	{400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{600, "CUDA_ERROR_NOT_READY", "device not ready"},
	{700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
	{701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
		"too many resources requested for launch"},
	{719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
	{803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
		"system has unsupported display driver / cuda driver combination"},
	{900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
		"operation not permitted when stream is capturing"},
	{901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
		"operation failed due to a previous error during capture"},
	{999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static int find_error(int code, const char **name, const char **text)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == code) {
			*name = errors[i].name;
			*text = errors[i].text;
			return FAKE_OK;
		}
	*name = *text = NULL;
	return FAKE_INVALID_VALUE;
}

/* They always answer. */
int cuGetErrorName(int code, const char **name)
{
	const char *text;

	return find_error(code, name, &text);
}

int cuGetErrorString(int code, const char **text)
{
	const char *name;

	return find_error(code, &name, text);
}

int cuDeviceGetCount(int *count)
{
	FAKE_CALL();
	*count = fake_settings()->devices;
	return FAKE_OK;
}

static bool is_device(int device)
{
	return device >= 0 && device < fake_settings()->devices;
}

int cuDeviceGet(int *device, int ordinal)
{
	FAKE_CALL();
	if (!is_device(ordinal))
		return FAKE_INVALID_DEVICE;
	*device = ordinal;
	return FAKE_OK;
}

int cuDeviceGetName(char *name, int size, int device)
{
	FAKE_CALL();
	if (!is_device(device))
		return FAKE_INVALID_DEVICE;
	(void)snprintf(name, (size_t)size, "Fake GPU %d", device);
	return FAKE_OK;
}

int cuDeviceGetUuid_v2(unsigned char uuid[16], int device)
{
	FAKE_CALL();
	if (!is_device(device))
		return FAKE_INVALID_DEVICE;
	memset(uuid, 0xfa, 16);
	uuid[15] = (unsigned char)device;
	return FAKE_OK;
}

int cuDeviceGetPCIBusId(char *id, int size, int device)
{
	FAKE_CALL();
	if (!is_device(device))
		return FAKE_INVALID_DEVICE;
	(void)snprintf(id, (size_t)size, "0000:%02X:00.0", device + 1);
	return FAKE_OK;
}

/* By the numbers of CUdevice_attribute, with an H200's values. */
static bool attribute_of(int attribute, int device, int *value)
{
	const struct {
		int attribute, value;
	} known[] = {
		{1, 1024},
		{2, 1024},
		{3, 1024},
		{4, 64},
		{5, 0x7fffffff},
		{6, 65535},
		{7, 65535},
		{8, FAKE_SHARED_PLAIN},
		{10, 32},
		{12, 65536},
		{13, 1980000},
		{15, 1},
		{16, 132},
		{18, 0},
		{31, 1},
		{33, device + 1},
		{34, 0},
		{36, 3201000},
		{37, 6144},
		{38, 60 << 20},
		{39, 2048},
		{41, 1},
		{50, 0},
		{75, fake_settings()->major},
		{76, fake_settings()->minor},
		{81, 228 * 1024},
		{82, 65536},
		{97, FAKE_SHARED_MAX},
		{106, 32},
		{108, 37 << 20},
		{115, 1},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].attribute == attribute) {
			*value = known[i].value;
			return true;
		}
	return false;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	FAKE_CALL();
	if (!is_device(device))
		return FAKE_INVALID_DEVICE;
	return attribute_of(attribute, device, value) ? FAKE_OK : FAKE_INVALID_VALUE;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	FAKE_CALL();
	if (!is_device(device))
		return FAKE_INVALID_DEVICE;
	*bytes = fake_settings()->memory;
	return FAKE_OK;
}

int cuDevicePrimaryCtxRetain(struct fake_context **context, int device)
{
	FAKE_CALL();
	if (!is_device(device))
		return FAKE_INVALID_DEVICE;
	contexts[device].device = device;
	contexts[device].users++;
	*context = &contexts[device];
	return FAKE_OK;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	FAKE_CALL();
	if (!is_device(device) || contexts[device].users == 0)
		return FAKE_INVALID_CONTEXT;
	contexts[device].users--;
	return FAKE_OK;
}

static int push(struct fake_context *context)
{
	if (depth == DEPTH)
		fake_die("contexts are pushed and never popped");
	stack[depth++] = context;
	return FAKE_OK;
}

int cuCtxSetCurrent(struct fake_context *context)
{
	FAKE_CALL();
	if (context && context->users == 0)
		return FAKE_INVALID_CONTEXT;
	if (depth == 0)
		return push(context);
	stack[depth - 1] = context;
	return FAKE_OK;
}

int cuCtxGetCurrent(struct fake_context **context)
{
	FAKE_CALL();
	*context = fake_current();
	return FAKE_OK;
}

int cuCtxGetDevice(int *device)
{
	FAKE_CALL_IN_CONTEXT();
	*device = fake_current()->device;
	return FAKE_OK;
}

int cuCtxPushCurrent_v2(struct fake_context *context)
{
	FAKE_CALL();
	return context ? push(context) : FAKE_INVALID_CONTEXT;
}

int cuCtxPopCurrent_v2(struct fake_context **context)
{
	FAKE_CALL();
	if (depth == 0)
		return FAKE_INVALID_CONTEXT;
	depth--;
	if (context)
		*context = stack[depth];
	return FAKE_OK;
}

int cuCtxSynchronize(void)
{
	FAKE_CALL_IN_CONTEXT();
	int result = fake_refuse_in_capture();

	if (result == FAKE_OK)
		fake_run_queue();
	return result;
}

int cuCtxResetPersistingL2Cache(void)
{
	FAKE_CALL_IN_CONTEXT();
	return FAKE_OK;
}
