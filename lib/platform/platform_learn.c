/* SPDX-License-Identifier: MIT */
/* What a worker found out of a GPU, into the platform. Asks nobody. */
#include "lib/platform/platform.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/text.h"

/* A text that does not fit, or is none, says nothing. */
static void take_text(const json_t *gpu, const char *key, char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(gpu, key));

	if (text && text[0] && strlen(text) < size)
		kp_text_clean(text, out, size);
}

static void take(const json_t *gpu, struct kp_device_facts *device)
{
	const char *arch = json_string_value(json_object_get(gpu, "arch"));
	json_int_t memory = json_integer_value(json_object_get(gpu, "memory_bytes"));

	take_text(gpu, "uuid", device->uuid, sizeof(device->uuid));
	take_text(gpu, "name", device->name, sizeof(device->name));
	device->arch = (struct kp_arch){false, 0, 0};
	if (arch && kp_arch_parse(arch, &device->arch, NULL) < 0)
		device->arch = (struct kp_arch){false, 0, 0};
	device->memory = memory > 0 ? (uint64_t)memory : 0;
}

static bool is_same(const struct kp_device_facts *a, const struct kp_device_facts *b)
{
	return a->arch.known == b->arch.known && a->memory == b->memory &&
	       kp_arch_compare(&a->arch, &b->arch) == 0 &&
	       strcmp(a->uuid, b->uuid) == 0 && strcmp(a->name, b->name) == 0;
}

bool kp_platform_learn(struct kp_platform *platform, const json_t *gpu)
{
	const char *pci = json_string_value(json_object_get(gpu, "pci"));
	char id[sizeof(platform->devices->id)];

	if (!pci || (size_t)snprintf(id, sizeof(id), "gpu-%s", pci) >= sizeof(id))
		return false;
	struct kp_device_facts *device = kp_platform_find(platform, id);
	if (!device)
		return false;
	const struct kp_device_facts before = *device;
	take(gpu, device);
	return !is_same(&before, device);
}

bool kp_platform_inherit(struct kp_platform *platform, const struct kp_platform *before)
{
	bool whole = true;

	for (size_t i = 0; i < platform->n_devices; i++) {
		struct kp_device_facts *device = &platform->devices[i];
		const struct kp_device_facts *old = kp_platform_find(before, device->id);
		if (device->kind != KP_GPU)
			continue;
		if (!old || strcmp(old->vendor, device->vendor) != 0 ||
			strcmp(old->driver, device->driver) != 0 ||
			strcmp(old->bound, device->bound) != 0) {
			whole = false;
			continue;
		}
		*device = *old;
	}
	return whole;
}
