/* SPDX-License-Identifier: MIT */
/* Platforms built device by device; how one is found out is not known here. */
#include "lib/platform/platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/platform/cpu.h"
#include "lib/platform/platform_build.h"

struct kp_device_facts *kp_platform_add(
	struct kp_platform *platform, struct kp_diag *diag)
{
	if (platform->n_devices == KP_PLATFORM_DEVICES) {
		kp_diag_set(diag, "too_many", "devices",
			"devices: a platform has at most %d devices",
			KP_PLATFORM_DEVICES);
		return NULL;
	}
	struct kp_device_facts *devices = reallocarray(
		platform->devices, platform->n_devices + 1, sizeof(*devices));
	if (!devices) {
		kp_diag_no_memory(diag);
		return NULL;
	}
	platform->devices = devices;
	struct kp_device_facts *device = &devices[platform->n_devices++];
	*device = (struct kp_device_facts){0};
	return device;
}

bool kp_device_add_feature(struct kp_device_facts *device, const char *feature)
{
	size_t at = 0;
	while (at < device->n_features && strcmp(device->features[at], feature) < 0)
		at++;
	if (at < device->n_features && strcmp(device->features[at], feature) == 0)
		return true;
	size_t length = strlen(feature);
	if (device->n_features == KP_DEVICE_FEATURES ||
		length >= sizeof(device->features[0]))
		return false;
	memmove(device->features[at + 1], device->features[at],
		(device->n_features - at) * sizeof(device->features[0]));
	memcpy(device->features[at], feature, length + 1);
	device->n_features++;
	return true;
}

int kp_platform_add_cpu(
	struct kp_platform *platform, const struct kp_cpu *cpu, struct kp_diag *diag)
{
	struct kp_device_facts *device = kp_platform_add(platform, diag);
	if (!device)
		return -1;
	device->kind = KP_CPU;
	(void)snprintf(device->id, sizeof(device->id), "cpu");
	(void)snprintf(device->vendor, sizeof(device->vendor), "%s", cpu->vendor);
	(void)snprintf(device->name, sizeof(device->name), "%s", cpu->name);
	device->arch = (struct kp_arch){cpu->level > 0, (int32_t)cpu->level, 0};
	/* The tables of lib/platform/cpu.c are bounded by what a device can hold. */
	for (size_t i = 0; i < cpu->n_features; i++)
		(void)kp_device_add_feature(device, cpu->features[i]);
	return 0;
}

struct kp_device_facts *kp_platform_find(
	const struct kp_platform *platform, const char *id)
{
	for (size_t i = 0; i < platform->n_devices; i++)
		if (strcmp(platform->devices[i].id, id) == 0)
			return &platform->devices[i];
	return NULL;
}

void kp_platform_finish(struct kp_platform *platform)
{
	if (!platform)
		return;
	free(platform->devices);
	*platform = (struct kp_platform){0};
}
