/* SPDX-License-Identifier: MIT */
/*
 * NVIDIA's management library, opened by name: as much of its interface as kplug needs,
 * declared here since the toolkit lacks its header. Any of its calls may hang for as
 * long as the kernel driver does, so that they are made by workers only.
 */
#ifndef KP_WORKER_NVML_H
#define KP_WORKER_NVML_H

#include "lib/base/diag.h"

/* Results, by their numbers in nvml.h. */
enum nvml_status {
	NVML_SUCCESS = 0,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_NOT_FOUND = 6,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_GPU_IS_LOST = 15,
	NVML_VERSION_MISMATCH = 18,
};

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_TEXT = 96 };

typedef struct nvml_gpu *nvml_gpu; /* a handle */

struct nvml_memory {
	unsigned long long total, free, used;
};

/* Members that are NULL are not there: older drivers lack some of the questions. */
struct nvml {
	int (*init)(void);
	int (*driver_version)(char *text, unsigned size);
	int (*cuda_version)(int *version); /* 13000 is 13.0 */
	int (*by_address)(const char *address, nvml_gpu *gpu);
	int (*uuid)(nvml_gpu gpu, char *text, unsigned size);
	int (*name)(nvml_gpu gpu, char *text, unsigned size);
	int (*capability)(nvml_gpu gpu, int *major, int *minor);
	int (*memory)(nvml_gpu gpu, struct nvml_memory *memory);
	int (*ecc)(nvml_gpu gpu, unsigned *current, unsigned *pending);
	int (*mig)(nvml_gpu gpu, unsigned *current, unsigned *pending);
	int (*clock)(nvml_gpu gpu, int which, unsigned *mhz);
	int (*max_clock)(nvml_gpu gpu, int which, unsigned *mhz);
	const char *(*error_text)(int status);
};

/*
 * Opens `file` and finds its functions; it stays open until the process ends. Codes
 * driver_library_missing, driver_library_unusable.
 */
int nvml_open(const char *file, struct nvml *nvml, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * A status in words: codes driver_not_loaded, driver_version_mismatch,
 * driver_no_permission, gpu_lost, gpu_not_found, driver_error. `object` is what was asked
 * for. Returns -1.
 */
int nvml_fail(const struct nvml *nvml, int status, const char *what, const char *object,
	struct kp_diag *diag);

#endif
