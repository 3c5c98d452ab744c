/* SPDX-License-Identifier: MIT */
/* Platforms as the Platform of the interface, and back. */
#include "lib/platform/platform.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"
#include "lib/platform/platform_build.h"

enum { PATH_BYTES = 64 };

static const struct kp_json_key platform_keys[] = {
	{"name", KP_JSON_STRING | KP_JSON_NULL, false},
	{"devices", KP_JSON_ARRAY, true},
};
static const struct kp_json_key device_keys[] = {
	{"id", KP_JSON_STRING | KP_JSON_NULL, false},
	{"kind", KP_JSON_STRING, true},
	{"vendor", KP_JSON_STRING, true},
	{"name", KP_JSON_STRING | KP_JSON_NULL, false},
	{"arch", KP_JSON_STRING | KP_JSON_NULL, false},
	{"features", KP_JSON_ARRAY, false},
	{"uuid", KP_JSON_STRING | KP_JSON_NULL, false},
	{"memory_bytes", KP_JSON_INTEGER | KP_JSON_NULL, false},
	{"driver", KP_JSON_STRING | KP_JSON_NULL, false},
};

static int bad(struct kp_diag *diag, const char *path, const char *key, const char *what)
{
	char object[PATH_BYTES * 2];
	(void)snprintf(object, sizeof(object), "%s.%s", path, key);
	return kp_diag_set(diag, "bad_platform", object, "%s: %s", object, what);
}

/* Takes the text of a key, "" where it is absent; refuses what does not fit. */
static int take(const json_t *value, const char *path, const char *key, char *out,
	size_t size, struct kp_diag *diag)
{
	const char *text = kp_json_text(value, key);
	if (!text)
		text = "";
	if (strlen(text) >= size)
		return bad(diag, path, key, "the text is too long");
	kp_text_clean(text, out, size);
	return 0;
}

static int read_features(const json_t *list, const char *path,
	struct kp_device_facts *device, struct kp_diag *diag)
{
	char item[PATH_BYTES * 2];
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *feature = json_array_get(list, i);
		(void)snprintf(item, sizeof(item), "%s.features[%zu]", path, i);
		if (!json_is_string(feature))
			return kp_json_wrong_type(diag, item, feature, KP_JSON_STRING);
		if (!kp_text_is_name(json_string_value(feature)))
			return kp_diag_set(diag, "bad_name", item, "%s: %s", item,
				kp_text_name_rule);
		if (!kp_device_add_feature(device, json_string_value(feature)))
			return kp_diag_set(diag, "too_many", item,
				"%s: a device has at most %d features of %zu characters",
				item, KP_DEVICE_FEATURES,
				sizeof(device->features[0]) - 1);
	}
	return 0;
}

static int read_kind(const json_t *value, const char *path,
	struct kp_device_facts *device, struct kp_diag *diag)
{
	const char *kind = kp_json_text(value, "kind");
	const char *arch = kp_json_text(value, "arch");

	if (!kp_device_kind_parse(kind, &device->kind) || device->kind == KP_ANY_DEVICE)
		return bad(diag, path, "kind", "cpu or gpu expected");
	if (take(value, path, "vendor", device->vendor, sizeof(device->vendor), diag) < 0)
		return -1;
	if (!kp_text_is_name(device->vendor))
		return bad(diag, path, "vendor", kp_text_name_rule);
	if (arch && kp_arch_parse(arch, &device->arch, NULL) < 0)
		return bad(diag, path, "arch", "two numbers expected, as 9.0");
	return 0;
}

/* A device without an id gets its kind, from the second one on with a number. */
static void number(struct kp_platform *platform, struct kp_device_facts *device)
{
	size_t before = 0;
	for (size_t i = 0; i + 1 < platform->n_devices; i++)
		before += platform->devices[i].kind == device->kind;
	const char *kind = kp_device_kind_name(device->kind);
	if (before)
		(void)snprintf(device->id, sizeof(device->id), "%s-%zu", kind, before);
	else
		(void)snprintf(device->id, sizeof(device->id), "%s", kind);
}

static int read_rest(const json_t *value, const char *path,
	struct kp_device_facts *device, struct kp_diag *diag)
{
	json_int_t memory = json_integer_value(json_object_get(value, "memory_bytes"));

	if (memory < 0)
		return bad(diag, path, "memory_bytes", "a size expected");
	device->memory = (uint64_t)memory;
	if (take(value, path, "uuid", device->uuid, sizeof(device->uuid), diag) < 0)
		return -1;
	return take(value, path, "driver", device->driver, sizeof(device->driver), diag);
}

static int read_device(const json_t *value, const char *path,
	struct kp_platform *platform, struct kp_diag *diag)
{
	if (kp_json_check(value, path, device_keys, KP_COUNT(device_keys), NULL, diag) <
		0)
		return -1;
	struct kp_device_facts *device = kp_platform_add(platform, diag);
	if (!device)
		return -1;
	if (take(value, path, "id", device->id, sizeof(device->id), diag) < 0 ||
		take(value, path, "name", device->name, sizeof(device->name), diag) < 0 ||
		read_kind(value, path, device, diag) < 0 ||
		read_rest(value, path, device, diag) < 0 ||
		read_features(json_object_get(value, "features"), path, device, diag) < 0)
		return -1;
	if (!device->id[0])
		number(platform, device);
	for (size_t i = 0; i + 1 < platform->n_devices; i++)
		if (strcmp(platform->devices[i].id, device->id) == 0)
			return bad(diag, path, "id", "another device has this id");
	return 0;
}

static int read_platform(
	const json_t *value, struct kp_platform *platform, struct kp_diag *diag)
{
	char path[PATH_BYTES];
	const char *name = kp_json_text(value, "name");

	if (kp_json_check(value, "", platform_keys, KP_COUNT(platform_keys), NULL, diag) <
		0)
		return -1;
	const json_t *devices = json_object_get(value, "devices");
	if (name && strlen(name) >= sizeof(platform->name))
		return kp_diag_set(
			diag, "bad_platform", "name", "name: the text is too long");
	kp_text_clean(name ? name : "given", platform->name, sizeof(platform->name));
	if (json_array_size(devices) == 0)
		return kp_diag_set(diag, "bad_platform", "devices",
			"devices: a platform has at least one device");
	for (size_t i = 0; i < json_array_size(devices); i++) {
		(void)snprintf(path, sizeof(path), "devices[%zu]", i);
		if (read_device(json_array_get(devices, i), path, platform, diag) < 0)
			return -1;
	}
	return 0;
}

int kp_platform_from_json(
	const json_t *value, struct kp_platform *platform, struct kp_diag *diag)
{
	struct kp_platform made = {0};

	if (json_is_string(value))
		return kp_platform_named(json_string_value(value), platform, diag);
	if (!json_is_object(value))
		return kp_json_wrong_type(
			diag, "", value, KP_JSON_OBJECT | KP_JSON_STRING);
	if (read_platform(value, &made, diag) < 0) {
		kp_platform_finish(&made);
		return -1;
	}
	*platform = made;
	return 0;
}

static json_t *features_json(const struct kp_device_facts *device)
{
	json_t *list = json_array();
	for (size_t i = 0; list && i < device->n_features; i++)
		list = kp_json_append(list, json_string(device->features[i]));
	return list;
}

json_t *kp_platform_device_json(const struct kp_device_facts *device)
{
	char arch[32];
	return json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:o, s:s*, s:o*, s:s*}", "id",
		device->id, "kind", kp_device_kind_name(device->kind), "vendor",
		device->vendor, "name", device->name[0] ? device->name : NULL, "arch",
		device->arch.known ? kp_arch_print(&device->arch, arch, sizeof(arch))
				   : NULL,
		"features", features_json(device), "uuid",
		device->uuid[0] ? device->uuid : NULL, "memory_bytes",
		device->memory ? json_integer((json_int_t)device->memory) : NULL,
		"driver", device->driver[0] ? device->driver : NULL);
}

json_t *kp_platform_json(const struct kp_platform *platform)
{
	json_t *devices = json_array();
	for (size_t i = 0; devices && i < platform->n_devices; i++)
		devices = kp_json_append(
			devices, kp_platform_device_json(&platform->devices[i]));
	return json_pack("{s:s, s:o}", "name", platform->name, "devices", devices);
}
