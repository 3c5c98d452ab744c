/* SPDX-License-Identifier: MIT */
/* Opening of NVIDIA's management library, and its errors in words. */
#include "daemon/worker/nvml.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/owned.h"
#include "lib/base/text.h"

static const struct {
	const char *symbol;
	size_t member;
	bool required;
} symbols[] = {
	{"nvmlInit_v2", offsetof(struct nvml, init), true},
	{"nvmlSystemGetDriverVersion", offsetof(struct nvml, driver_version), true},
	{"nvmlSystemGetCudaDriverVersion", offsetof(struct nvml, cuda_version), false},
	{"nvmlDeviceGetHandleByPciBusId_v2", offsetof(struct nvml, by_address), true},
	{"nvmlDeviceGetUUID", offsetof(struct nvml, uuid), true},
	{"nvmlDeviceGetName", offsetof(struct nvml, name), true},
	{"nvmlDeviceGetCudaComputeCapability", offsetof(struct nvml, capability), true},
	{"nvmlDeviceGetMemoryInfo", offsetof(struct nvml, memory), false},
	{"nvmlDeviceGetEccMode", offsetof(struct nvml, ecc), false},
	{"nvmlDeviceGetMigMode", offsetof(struct nvml, mig), false},
	{"nvmlDeviceGetClockInfo", offsetof(struct nvml, clock), false},
	{"nvmlDeviceGetMaxClockInfo", offsetof(struct nvml, max_clock), false},
	{"nvmlErrorString", offsetof(struct nvml, error_text), false},
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
	for (size_t i = 0; i < KP_COUNT(symbols); i++) {
		void *symbol = dlsym(library, symbols[i].symbol);
		if (!symbol && symbols[i].required)
			return kp_diag_set(diag, "driver_library_unusable", file,
				"%s has no %s: it is no management library of NVIDIA's, "
				"or "
				"too old",
				file, symbols[i].symbol);
		/* POSIX: a function's address fits an object's pointer. */
		memcpy((char *)nvml + symbols[i].member, &symbol, sizeof(symbol));
	}
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
