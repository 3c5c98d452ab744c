/* SPDX-License-Identifier: MIT */
/* Opening of NVIDIA's management library, and its errors in words. */
#include "daemon/worker/nvml.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "daemon/worker/symbols.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"

static const struct symbol needed[] = {
	{"nvmlInit_v2", offsetof(struct nvml, init)},
	{"nvmlSystemGetDriverVersion", offsetof(struct nvml, driver_version)},
	{"nvmlDeviceGetHandleByPciBusId_v2", offsetof(struct nvml, by_address)},
	{"nvmlDeviceGetUUID", offsetof(struct nvml, uuid)},
	{"nvmlDeviceGetName", offsetof(struct nvml, name)},
	{"nvmlDeviceGetCudaComputeCapability", offsetof(struct nvml, capability)},
};

/* Of newer libraries. */
static const struct symbol optional[] = {
	{"nvmlSystemGetCudaDriverVersion", offsetof(struct nvml, cuda_version)},
	{"nvmlDeviceGetMemoryInfo", offsetof(struct nvml, memory)},
	{"nvmlDeviceGetEccMode", offsetof(struct nvml, ecc)},
	{"nvmlDeviceGetMigMode", offsetof(struct nvml, mig)},
	{"nvmlDeviceGetClockInfo", offsetof(struct nvml, clock)},
	{"nvmlDeviceGetMaxClockInfo", offsetof(struct nvml, max_clock)},
	{"nvmlErrorString", offsetof(struct nvml, error_text)},
};

static int cannot_open(const char *file, struct kp_diag *diag)
{
	const char *why = dlerror();
	bool missing = why && strstr(why, "No such file");

	return kp_diag_set(diag,
		missing ? "driver_library_missing" : "driver_library_unusable", file,
		missing ? "%s is not there: NVIDIA's driver is not installed for "
			  "programs here (in a container: not handed in); %s"
			: "%s cannot be opened: %s",
		file, why ? why : "no reason was given");
}

int nvml_open(const char *file, struct nvml *nvml, struct kp_diag *diag)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	*nvml = (struct nvml){0};
	if (!library)
		return cannot_open(file, diag);
	(void)symbols_find(library, optional, KP_COUNT(optional), nvml);
	const char *missing = symbols_find(library, needed, KP_COUNT(needed), nvml);
	if (missing)
		return kp_diag_set(diag, "driver_library_unusable", file,
			"%s has no %s: it is no management library of NVIDIA's, or too "
			"old",
			file, missing);
	return 0;
}

/* Known ones, with what to do about them. */
static const struct {
	int status;
	const char *code, *text;
} failures[] = {
	{NVML_NO_PERMISSION, "driver_no_permission",
		"this user may not open it: see the rights of /dev/nvidia*"},
	{NVML_NOT_FOUND, "gpu_not_found",
		"the driver does not know it: another driver has it, or it is not handed "
		"in here"},
	{NVML_DRIVER_NOT_LOADED, "driver_not_loaded",
		"NVIDIA's kernel driver is not loaded: modprobe nvidia"},
	{NVML_GPU_IS_LOST, "gpu_lost",
		"the GPU does not answer any more: it has fallen off the bus; see the "
		"kernel's log, reset it or reboot"},
	{NVML_VERSION_MISMATCH, "driver_version_mismatch",
		"NVIDIA's kernel driver and its library have different versions: reboot, "
		"or load the driver that was installed"},
};

int nvml_fail(const struct nvml *nvml, int status, const char *what, const char *object,
	struct kp_diag *diag)
{
	char words[128];
	const char *text = nvml->error_text ? nvml->error_text(status) : NULL;

	for (size_t i = 0; i < KP_COUNT(failures); i++)
		if (failures[i].status == status)
			return kp_diag_set(diag, failures[i].code, object, "%s: %s",
				object, failures[i].text);
	(void)kp_text_clean(text ? text : "no words for it", words, sizeof(words));
	return kp_diag_set(diag, "driver_error", object,
		"%s: NVIDIA's driver failed at %s: %s (NVML %d)", object, what, words,
		status);
}
