/* SPDX-License-Identifier: MIT */
/* The host as a device, and which device a job means. */
#include "daemon/worker/device.h"

#include <string.h>

static int place(struct device *device, struct device_piece *piece, struct kp_diag *diag)
{
	(void)device;
	(void)diag;
	piece->address = piece->host;
	return 0;
}

static void drop(struct device *device, struct device_piece *piece)
{
	(void)device;
	piece->address = NULL;
}

static int nothing(
	struct device *device, const struct device_piece *piece, struct kp_diag *diag)
{
	(void)device;
	(void)piece;
	(void)diag;
	return 0;
}

/* Fences tell. */
static int check(struct device *device, const struct device_piece *piece, bool is_input,
	struct kp_diag *diag)
{
	(void)is_input;
	return nothing(device, piece, diag);
}

static int soil(
	struct device *device, const struct device_piece *piece, struct kp_diag *diag)
{
	(void)device;
	(void)diag;
	if (piece->bytes > 0)
		memset(piece->address, 0xff, piece->bytes);
	return 0;
}

static int wait(struct device *device, struct kp_diag *diag)
{
	(void)device;
	(void)diag;
	return 0;
}

const struct device_kind device_host = {
	.name = "cpu",
	.is_host = true,
	.place = place,
	.drop = drop,
	.push = nothing,
	.pull = nothing,
	.check = check,
	.soil = soil,
	.wait = wait,
};

int device_open(struct device *device, const json_t *job, struct kp_diag *diag)
{
	const json_t *asked = json_object_get(job, "device");
	const char *id = json_string_value(json_object_get(asked, "id"));
	const char *vendor = json_string_value(json_object_get(asked, "vendor"));

	device->kind = &device_host;
	device->told =
		(struct kp_device){KP_SIZED(struct kp_device), .type = KP_DEVICE_CPU};
	device->place = (struct kp_place){KP_DEVICE_CPU, 0};
	if (!id)
		return 0;
	if (vendor && strcmp(vendor, "nvidia") != 0)
		return kp_diag_set(diag, "unavailable", id,
			"%s: kernels on devices of %s cannot be run here, only on those "
			"of nvidia",
			id, vendor);
	return device_cuda_open(device, id, diag);
}
