/* SPDX-License-Identifier: MIT */
/* A GPU through the CUDA driver: copies, guards of bytes, and waiting. */
#include "daemon/worker/device.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A kernel that is a row or two off still hits the guards; addresses are aligned. */
enum { GUARD = 64 << 10, ALIGN = 256, PATTERN = 0xa5, SOIL = 0xff, STREAM_ALONE = 1 };

static cuda_pointer pointer(const void *address)
{
	return (cuda_pointer)(uintptr_t)address;
}

static int place(struct device *device, struct device_piece *piece, struct kp_diag *diag)
{
	const struct cuda *cuda = &device->cuda;
	cuda_pointer base = 0;
	size_t align = piece->align > ALIGN ? piece->align : ALIGN, room;

	if (__builtin_add_overflow(piece->bytes, (size_t)2 * GUARD + align, &room))
		return kp_diag_set(diag, "too_large", piece->name,
			"%s: %zu bytes are too many", piece->name, piece->bytes);
	if (cuda_check(cuda, cuda->allocate(&base, room), "cuMemAlloc", diag) < 0)
		return -1;
	piece->base = (void *)(uintptr_t)base;
	piece->room = room;
	cuda_pointer address = (base + GUARD + align - 1) & ~(cuda_pointer)(align - 1);
	piece->address = (void *)(uintptr_t)address;
	return cuda_check(cuda, cuda->fill(base, PATTERN, room), "cuMemsetD8", diag);
}

static void drop(struct device *device, struct device_piece *piece)
{
	if (piece->base)
		(void)device->cuda.free(pointer(piece->base));
	piece->base = piece->address = NULL;
}

static int push(
	struct device *device, const struct device_piece *piece, struct kp_diag *diag)
{
	const struct cuda *cuda = &device->cuda;

	if (!piece->base || piece->bytes == 0)
		return 0;
	return cuda_check(cuda,
		cuda->put(pointer(piece->address), piece->host, piece->bytes),
		"cuMemcpyHtoD", diag);
}

static int take(struct device *device, void *to, cuda_pointer from, size_t bytes,
	struct kp_diag *diag)
{
	const struct cuda *cuda = &device->cuda;

	if (bytes == 0)
		return 0;
	return cuda_check(cuda, cuda->take(to, from, bytes), "cuMemcpyDtoH", diag);
}

static int pull(
	struct device *device, const struct device_piece *piece, struct kp_diag *diag)
{
	if (!piece->base)
		return 0;
	return take(device, piece->host, pointer(piece->address), piece->bytes, diag);
}

/* ---- guards ------------------------------------------------------------------------ */

/* How many bytes are not the pattern any more, and which is the first (or last). */
static bool spoiled(const unsigned char *bytes, size_t count, bool from_end, size_t *at)
{
	for (size_t i = 0; i < count; i++) {
		*at = from_end ? count - 1 - i : i;
		if (bytes[*at] != PATTERN)
			return true;
	}
	return false;
}

static int check_guards(struct device *device, const struct device_piece *piece,
	unsigned char *buffer, struct kp_diag *diag)
{
	cuda_pointer base = pointer(piece->base), data = pointer(piece->address);
	size_t before = data - base, behind = piece->room - before - piece->bytes, at;

	if (take(device, buffer, base, before, diag) < 0)
		return -1;
	if (spoiled(buffer, before, true, &at))
		return kp_diag_set(diag, "out_of_bounds", piece->name,
			"wrote before %s (%zu bytes before its start)", piece->name,
			before - at);
	if (take(device, buffer, data + piece->bytes, behind, diag) < 0)
		return -1;
	if (spoiled(buffer, behind, false, &at))
		return kp_diag_set(diag, "out_of_bounds", piece->name,
			"wrote behind %s (%zu bytes behind its end)", piece->name,
			at + 1);
	return 0;
}

static int check_input(struct device *device, const struct device_piece *piece,
	unsigned char *buffer, struct kp_diag *diag)
{
	const unsigned char *pushed = piece->host;

	if (take(device, buffer, pointer(piece->address), piece->bytes, diag) < 0)
		return -1;
	for (size_t i = 0; i < piece->bytes; i++)
		if (buffer[i] != pushed[i])
			return kp_diag_set(diag, "out_of_bounds", piece->name,
				"wrote to the input %s (at byte %zu)", piece->name, i);
	return 0;
}

static int check(struct device *device, const struct device_piece *piece, bool is_input,
	struct kp_diag *diag)
{
	if (!piece->base)
		return 0;
	unsigned char *buffer = malloc(piece->room);
	if (!buffer)
		return kp_diag_no_memory(diag);
	int failed = check_guards(device, piece, buffer, diag) < 0 ||
		     (is_input && check_input(device, piece, buffer, diag) < 0);
	free(buffer);
	return failed ? -1 : 0;
}

static int soil(
	struct device *device, const struct device_piece *piece, struct kp_diag *diag)
{
	const struct cuda *cuda = &device->cuda;

	if (piece->bytes == 0)
		return 0;
	return cuda_check(cuda, cuda->fill(pointer(piece->address), SOIL, piece->bytes),
		"cuMemsetD8", diag);
}

/* The context is the application's: without it nothing can be waited for. */
static int check_context(struct device *device, struct kp_diag *diag)
{
	const struct cuda *cuda = &device->cuda;
	void *current = NULL;

	if (cuda_check(cuda, cuda->get_current(&current), "cuCtxGetCurrent", diag) < 0)
		return -1;
	if (current == device->told.context)
		return 0;
	(void)cuda->set_current(device->told.context);
	return kp_diag_set(diag, "error", "context",
		"it leaves another CUDA context current than the application's");
}

static int wait(struct device *device, struct kp_diag *diag)
{
	const struct cuda *cuda = &device->cuda;

	if (check_context(device, diag) < 0)
		return -1;
	return cuda_check(
		cuda, cuda->stream_wait(device->stream), "waiting for the stream", diag);
}

const struct device_kind device_cuda = {
	.name = "cuda",
	.place = place,
	.drop = drop,
	.push = push,
	.pull = pull,
	.check = check,
	.soil = soil,
	.wait = wait,
};

/* ---- opening ----------------------------------------------------------------------- */

/* The driver writes some digits of an address in capitals. */
static bool is_meant(const struct cuda *cuda, const char *address, int device)
{
	char here[32] = "";

	return cuda->address(here, sizeof(here), device) == 0 &&
	       strcasecmp(here, address) == 0;
}

static int find(struct device *device, const char *id, struct kp_diag *diag)
{
	static const char prefix[] = "gpu-";
	const struct cuda *cuda = &device->cuda;
	bool has_address = strncmp(id, prefix, strlen(prefix)) == 0 && strchr(id, ':');
	int count = 0;

	if (cuda_check(cuda, cuda->count(&count), "cuDeviceGetCount", diag) < 0)
		return -1;
	for (int i = 0; i < count; i++)
		if (cuda->get(&device->number, i) == 0 &&
			(!has_address ||
				is_meant(cuda, id + strlen(prefix), device->number)))
			return 0;
	return kp_diag_set(diag, "unavailable", id,
		"the CUDA driver has %d devices, and %s is none of them", count, id);
}

int device_cuda_open(struct device *device, const char *id, struct kp_diag *diag)
{
	struct cuda *cuda = &device->cuda;
	void *context = NULL;

	if (cuda_open(cuda, diag) < 0 || find(device, id, diag) < 0)
		return -1;
	if (cuda_check(cuda, cuda->retain(&context, device->number),
		    "cuDevicePrimaryCtxRetain", diag) < 0 ||
		cuda_check(cuda, cuda->set_current(context), "cuCtxSetCurrent", diag) <
			0 ||
		cuda_check(cuda, cuda->stream_create(&device->stream, STREAM_ALONE),
			"cuStreamCreate", diag) < 0)
		return -1;
	device->kind = &device_cuda;
	device->place = (struct kp_place){KP_DEVICE_CUDA, device->number};
	device->told.type = KP_DEVICE_CUDA;
	device->told.id = device->number;
	device->told.context = context;
	return cuda_check(cuda, cuda->uuid(device->told.uuid, device->number),
		"cuDeviceGetUuid", diag);
}
