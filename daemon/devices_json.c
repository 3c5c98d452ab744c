/* SPDX-License-Identifier: MIT */
/* The reply of Devices: what the platform knows, what the driver said, what is not known.
 */
#include "daemon/devices.h"

#include <stdio.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/options.h"
#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"

static const char gpu_prefix[] = "gpu-";

static const char *address_of(const struct kp_device_facts *device)
{
	return device->kind == KP_GPU &&
			       strncmp(device->id, gpu_prefix, strlen(gpu_prefix)) == 0
		       ? device->id + strlen(gpu_prefix)
		       : NULL;
}

static bool is_nvidia(const struct kp_device_facts *device)
{
	return device->kind == KP_GPU && strcmp(device->vendor, "nvidia") == 0;
}

/* ---- why something is not known ---------------------------------------------------- */

/* Who else may have a GPU that NVIDIA's driver does not know. */
static json_t *not_reported(const struct kp_device_facts *device)
{
	bool other = device->bound[0] && strcmp(device->bound, "nvidia") != 0;

	return json_pack("{s:s, s:o}", "code", other ? "gpu_has_other_driver" : "no_arch",
		"message",
		other ? json_sprintf("%s belongs to the kernel driver %s, not to nvidia",
				device->id, device->bound)
		      : json_sprintf("%s: NVIDIA's driver does not tell its compute "
				     "capability",
				device->id));
}

/* NULL where nothing is missing. */
static json_t *reason_json(const struct daemon *daemon,
	const struct devices_answer *answer, const struct kp_device_facts *device,
	const json_t *gpu)
{
	json_t *said = json_object_get(gpu, "reason");

	if (device->kind != KP_GPU || daemon->options->platform)
		return NULL;
	if (!is_nvidia(device))
		return json_pack("{s:s, s:o}", "code", "no_way_to_ask", "message",
			json_sprintf("kplug has no way to ask the driver of a GPU of %s",
				device->vendor));
	if (answer->code)
		return json_pack("{s:s, s:o}", "code", answer->code, "message",
			kp_json_clean_string(answer->message));
	if (!gpu && answer->asking)
		return json_pack("{s:s, s:s}", "code", "asking", "message",
			"the driver is being asked");
	if (json_is_object(said))
		return json_pack("{s:o, s:o}", "code",
			kp_json_clean_string(kp_json_text(said, "code")), "message",
			kp_json_clean_string(kp_json_text(said, "message")));
	return device->arch.known ? NULL : not_reported(device);
}

json_t *devices_reason_json(
	const struct daemon *daemon, const struct kp_device_facts *device)
{
	const struct devices_answer answer = devices_answer(daemon->devices);
	const char *address = address_of(device);

	return reason_json(daemon, &answer, device,
		address ? json_object_get(answer.gpus, address) : NULL);
}

static const char *state_of(const struct daemon *daemon,
	const struct kp_device_facts *device, const json_t *reason)
{
	const char *code = json_string_value(json_object_get(reason, "code"));

	if (daemon->options->platform)
		return "given";
	if (code && strcmp(code, "gpu_lost") == 0)
		return "lost";
	return device->kind == KP_CPU || device->arch.known ? "known" : "unknown";
}

/* ---- a device ---------------------------------------------------------------------- */

static json_t *count_or_null(unsigned count)
{
	return count ? json_integer((json_int_t)count) : json_null();
}

static json_t *caches_json(const struct kp_topology *topology)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < topology->n_caches; i++) {
		const struct kp_cache *cache = &topology->caches[i];
		list = kp_json_append(list,
			json_pack("{s:i, s:o, s:I, s:i, s:i}", "level", (int)cache->level,
				"kind", kp_json_clean_string(cache->kind), "bytes",
				(json_int_t)cache->bytes, "shared_by",
				(int)cache->shared_by, "count", (int)cache->count));
	}
	return list;
}

/* Of the machine that this is, not of one that was given. */
static int put_topology(json_t *object, const struct kp_topology *topology)
{
	return json_object_update_new(object,
		json_pack("{s:o, s:o, s:o}", "cores", count_or_null(topology->cores),
			"threads", count_or_null(topology->threads), "caches",
			caches_json(topology)));
}

/* What the driver said beside the platform's facts, as it said it. */
static int put_gpu(json_t *object, const struct devices_answer *answer, const json_t *gpu)
{
	static const struct {
		const char *key;
		unsigned types;
	} members[] = {
		{"ecc", KP_JSON_BOOLEAN},
		{"mig", KP_JSON_BOOLEAN},
		{"sm_clock_mhz", KP_JSON_INTEGER},
		{"memory_clock_mhz", KP_JSON_INTEGER},
		{"max_sm_clock_mhz", KP_JSON_INTEGER},
		{"max_memory_clock_mhz", KP_JSON_INTEGER},
	};
	const char *cuda = json_string_value(json_object_get(answer->driver, "cuda"));
	int failed = 0;

	for (size_t i = 0; i < KP_COUNT(members); i++) {
		json_t *value = json_object_get(gpu, members[i].key);
		if (value && (1U << json_typeof(value)) & members[i].types)
			failed |= json_object_set(object, members[i].key, value);
	}
	if (gpu)
		failed |= json_object_set_new(object, "at", json_integer(answer->at));
	if (gpu && cuda)
		failed |= json_object_set_new(object, "cuda", kp_json_clean_string(cuda));
	return failed;
}

/* The kernel's word where it has one; libraries of another version do not start. */
static json_t *driver_json(
	const struct devices_answer *answer, const struct kp_device_facts *device)
{
	const char *said = json_string_value(json_object_get(answer->driver, "version"));

	if (device->driver[0])
		return kp_json_clean_string(device->driver);
	return is_nvidia(device) && said ? kp_json_clean_string(said) : json_null();
}

static json_t *device_json(const struct daemon *daemon,
	const struct devices_answer *answer, const struct kp_platform *platform,
	size_t index)
{
	const struct kp_device_facts *device = &platform->devices[index];
	const char *address = address_of(device);
	const json_t *gpu = address && is_nvidia(device)
				    ? json_object_get(answer->gpus, address)
				    : NULL;
	json_t *reason = reason_json(daemon, answer, device, gpu);
	json_t *object = kp_json_merge(kp_platform_device_json(device),
		json_pack("{s:s?, s:o, s:s, s:O?}", "pci", address, "driver",
			driver_json(answer, device), "state",
			state_of(daemon, device, reason), "reason", reason));
	int failed = object ? 0 : -1;

	json_decref(reason);
	if (!failed && device->kind == KP_CPU && !daemon->options->platform)
		failed = put_topology(object, answer->topology);
	if (!failed && address)
		failed = put_gpu(object, answer, gpu);
	if (!failed)
		return object;
	json_decref(object);
	return NULL;
}

static bool is_meant(const struct kp_device_facts *device, const char *only)
{
	const char *address = address_of(device);

	return !only || strcmp(device->id, only) == 0 ||
	       (address && strcmp(address, only) == 0) ||
	       (device->uuid[0] && strcmp(device->uuid, only) == 0);
}

/* ---- the reply --------------------------------------------------------------------- */

static json_t *warnings_json(const struct devices_answer *answer)
{
	if (!answer->code)
		return json_array();
	return json_pack("[{s:s, s:o}]", "code", answer->code, "message",
		kp_json_clean_string(answer->message));
}

json_t *devices_json(const struct daemon *daemon, const char *only)
{
	const struct kp_platform *platform = &daemon->platform;
	const struct devices_answer answer = devices_answer(daemon->devices);
	json_t *list = json_array();

	for (size_t i = 0; list && i < platform->n_devices; i++)
		if (is_meant(&platform->devices[i], only))
			list = kp_json_append(
				list, device_json(daemon, &answer, platform, i));
	return json_pack(
		"{s:o, s:o}", "devices", list, "warnings", warnings_json(&answer));
}
