/* SPDX-License-Identifier: MIT */
/* Devices that the application has opened: named, and given up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/owned.h"
#include "lib/host/calm.h"
#include "lib/host/fault.h"
#include "lib/host/handle.h"

enum { UUID_TEXT = 48 };

/* "GPU-01020304-0506-..." as drivers write it. */
static void print_uuid(const uint8_t *uuid, char text[UUID_TEXT])
{
	size_t at = (size_t)snprintf(text, UUID_TEXT, "GPU-");

	for (int i = 0; i < 16; i++)
		at += (size_t)snprintf(text + at, UUID_TEXT - at, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

/* plugind's id for the GPU with this uuid; else any GPU is meant. */
static void find_wanted(struct kp_handle *handle, struct kp_open_device *device)
{
	owned_json *reply = NULL;
	char uuid[UUID_TEXT];
	size_t i;
	json_t *item;

	(void)snprintf(device->wanted, sizeof(device->wanted), "gpu");
	print_uuid(device->device.uuid, uuid);
	if (kp_attach_ask(handle->attach, "Devices", NULL, &reply, NULL) < 0)
		return;
	const json_t *devices = json_object_get(reply, "devices");
	json_array_foreach (devices, i, item) {
		const char *theirs = json_string_value(json_object_get(item, "uuid"));
		const char *id = json_string_value(json_object_get(item, "id"));
		if (theirs && id && strcmp(theirs, uuid) == 0)
			(void)snprintf(device->wanted, sizeof(device->wanted), "%s", id);
	}
}

int kp_device_add(struct kp_handle *handle, const struct kp_device *from, uint32_t *id,
	struct kp_error *error)
{
	owned_calm calm = kp_calm_begin();
	struct kp_open_device *device;

	if (kp_handle_is_forked(handle))
		return kp_handle_forked(error);
	if (!KP_COVERS(from, context))
		return kp_fault_say(error, KP_INVALID,
			"kp_device.size is %u, %zu bytes are needed; set it with "
			"KP_SIZED",
			from->size, sizeof(*from));
	if (from->type == KP_DEVICE_CPU)
		return kp_fault_say(
			error, KP_INVALID, "the CPU is known without; its id is 0");
	device = calloc(1, sizeof(*device));
	if (!device)
		return kp_fault_say(error, KP_NO_MEMORY, "memory is exhausted");
	device->device = *from;
	device->device.size = (uint32_t)sizeof(device->device);
	find_wanted(handle, device);
	(void)pthread_mutex_lock(&handle->lock);
	*id = device->id = ++handle->n_devices;
	device->next = handle->devices;
	handle->devices = device;
	(void)pthread_mutex_unlock(&handle->lock);
	return KP_OK;
}

bool kp_device_close(const struct kp_handle *handle, struct kp_open_device *device)
{
	if (__atomic_exchange_n(&device->lost, true, __ATOMIC_RELAXED))
		return false;
	kp_log(&handle->log, KP_LOG_ERROR,
		"device %d of type %d is lost: no kernel is called for it any more",
		device->device.id, device->device.type);
	return true;
}

int kp_device_lost(struct kp_handle *handle, uint32_t id)
{
	owned_calm calm = kp_calm_begin();
	struct kp_open_device *device;

	if (kp_handle_is_forked(handle))
		return KP_INVALID;
	device = kp_handle_device(handle, id);
	if (!device)
		return KP_INVALID;
	if (kp_device_close(handle, device))
		kp_handle_touch(handle, NULL);
	return KP_OK;
}
