/* SPDX-License-Identifier: MIT */
/* Warnings beside a decision, of the registry's plugins and the platform's GPUs. */
#include "daemon/remarks.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/devices.h"
#include "lib/base/json.h"
#include "lib/table/table_read.h"

/* Is there a kernel for GPUs that would have been looked at? */
static bool has_gpu_kernel(const struct kp_table *table, const char *operation)
{
	bool found = false;

	for (size_t i = 0; !found && i < kp_table_kernels(table); i++) {
		struct kp_entry_state state;
		struct kp_spec spec;
		void *memory;
		if (kp_table_spec(table, i, &spec, &state, &memory) < 0)
			return false;
		found = spec.capability.device == KP_GPU &&
			strcmp(spec.operation, operation) == 0;
		free(memory);
	}
	return found;
}

static bool runs_on_gpu(const struct daemon *daemon, const json_t *reply)
{
	const char *id = kp_json_text(reply, "device");
	const struct kp_device_facts *device =
		id ? kp_platform_find(&daemon->platform, id) : NULL;

	return device && device->kind == KP_GPU;
}

static json_t *gpu_warning(const struct daemon *daemon, const struct kp_device_facts *gpu)
{
	json_t *reason = devices_reason_json(daemon, gpu);
	const char *code = kp_json_text(reason, "code");
	const char *message = kp_json_text(reason, "message");
	json_t *warning = json_pack("{s:s, s:o}", "code", code ? code : "arch_unknown",
		"message",
		json_sprintf("%s: its arch is not known, so that kernels which ask "
			     "for one are not considered: %s",
			gpu->id, message ? message : "nobody tells it"));

	json_decref(reason);
	return warning;
}

/* One with each code: eight GPUs of one driver have one trouble. */
static int add_gpus(const struct daemon *daemon, json_t *warnings)
{
	json_t *told = json_object();
	int failed = told ? 0 : -1;

	for (size_t i = 0; failed == 0 && i < daemon->platform.n_devices; i++) {
		const struct kp_device_facts *device = &daemon->platform.devices[i];
		if (device->kind != KP_GPU || device->arch.known)
			continue;
		json_t *warning = gpu_warning(daemon, device);
		const char *code = kp_json_text(warning, "code");
		if (warning && !json_object_get(told, code))
			failed = json_array_append(warnings, warning) |
				 json_object_set_new(told, code, json_true());
		else if (!warning)
			failed = -1;
		json_decref(warning);
	}
	json_decref(told);
	return failed;
}

static bool has_unknown_gpu(const struct kp_platform *platform)
{
	for (size_t i = 0; i < platform->n_devices; i++)
		if (platform->devices[i].kind == KP_GPU &&
			!platform->devices[i].arch.known)
			return true;
	return false;
}

int remarks_add(const struct daemon *daemon, bool here, json_t *reply)
{
	json_t *warnings = json_object_get(reply, "warnings");
	const char *operation = kp_json_text(reply, "operation");
	json_t *unknown = kp_registry_unknown(daemon->registry);
	int failed = unknown ? json_array_extend(warnings, unknown) : -1;

	json_decref(unknown);
	if (failed == 0 && here && operation && has_unknown_gpu(&daemon->platform) &&
		!runs_on_gpu(daemon, reply) &&
		has_gpu_kernel(&daemon->generation.table, operation))
		failed = add_gpus(daemon, warnings);
	return failed;
}
