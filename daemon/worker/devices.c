/* SPDX-License-Identifier: MIT */
/*
 * Asks NVIDIA's driver what the GPUs at given PCI addresses are. A line for the driver
 * and one for each GPU, in the order of the job; a GPU that cannot be asked says why.
 * No GPU is named by an index, and nothing is changed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/nvml.h"
#include "daemon/worker/report.h"
#include "lib/base/json.h"

enum { CUDA_MAJOR = 1000, CUDA_MINOR = 10 };

/* Beyond these a number is none of a GPU's: nobody knows it then. */
enum { CUDA_MOST = 1000 * CUDA_MAJOR, MHZ_MOST = 100000 };

/* One GPU that is asked; its texts are the driver's. */
struct answer {
	char uuid[NVML_TEXT], name[NVML_TEXT], arch[32];
};

static json_t *clock_json(
	int (*ask)(nvml_gpu gpu, int which, unsigned *mhz), nvml_gpu gpu, int which)
{
	unsigned mhz = 0;
	int status = ask ? ask(gpu, which, &mhz) : NVML_NOT_SUPPORTED;

	return status == NVML_SUCCESS && mhz > 0 && mhz <= MHZ_MOST
		       ? json_integer((json_int_t)mhz)
		       : json_null();
}

/* A mode that is on or off; null where the GPU has none. */
static json_t *mode_json(
	int (*ask)(nvml_gpu gpu, unsigned *current, unsigned *pending), nvml_gpu gpu)
{
	unsigned current = 0;
	unsigned pending = 0;
	int status = ask ? ask(gpu, &current, &pending) : NVML_NOT_SUPPORTED;

	return status == NVML_SUCCESS ? json_boolean(current != 0) : json_null();
}

/* GPUs that share the host's memory have none of their own. */
static json_t *memory_json(const struct nvml *nvml, nvml_gpu gpu)
{
	struct nvml_memory memory = {0};
	int status = nvml->memory ? nvml->memory(gpu, &memory) : NVML_NOT_SUPPORTED;

	return status == NVML_SUCCESS && memory.total > 0 && memory.total <= INT64_MAX
		       ? json_integer((json_int_t)memory.total)
		       : json_null();
}

/* What it must say of itself; the status of the first question that fails. */
static int ask_identity(
	const struct nvml *nvml, nvml_gpu gpu, struct answer *answer, const char **what)
{
	int major = 0;
	int minor = 0;

	*what = "its UUID";
	/* The last byte stays zero, whatever is written. */
	int status = nvml->uuid(gpu, answer->uuid, sizeof(answer->uuid) - 1);
	if (status == NVML_SUCCESS) {
		*what = "its name";
		status = nvml->name(gpu, answer->name, sizeof(answer->name) - 1);
	}
	if (status != NVML_SUCCESS)
		return status;
	*what = "its compute capability";
	status = nvml->capability(gpu, &major, &minor);
	/* Without it the GPU can be named, and not be used. */
	if (status == NVML_SUCCESS)
		(void)snprintf(answer->arch, sizeof(answer->arch), "%d.%d", major, minor);
	return status == NVML_NOT_SUPPORTED ? NVML_SUCCESS : status;
}

static json_t *gpu_json(const struct nvml *nvml, nvml_gpu gpu, const char *address,
	const struct answer *answer)
{
	return json_pack("{s:{s:s, s:o, s:o, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:o}}",
		"gpu", "pci", address, "uuid", kp_json_clean_or_null(answer->uuid),
		"name", kp_json_clean_or_null(answer->name), "arch",
		answer->arch[0] ? answer->arch : NULL, "memory_bytes",
		memory_json(nvml, gpu), "ecc", mode_json(nvml->ecc, gpu), "mig",
		mode_json(nvml->mig, gpu), "sm_clock_mhz",
		clock_json(nvml->clock, gpu, NVML_CLOCK_SM), "memory_clock_mhz",
		clock_json(nvml->clock, gpu, NVML_CLOCK_MEMORY), "max_sm_clock_mhz",
		clock_json(nvml->max_clock, gpu, NVML_CLOCK_SM), "max_memory_clock_mhz",
		clock_json(nvml->max_clock, gpu, NVML_CLOCK_MEMORY));
}

static void report_lost(
	const struct report *report, const char *address, const struct kp_diag *diag)
{
	report_line(
		report, json_pack("{s:{s:s, s:{s:s, s:s}}}", "gpu", "pci", address,
				"reason", "code", diag->code, "message", diag->message));
}

static void ask_gpu(
	const struct report *report, const struct nvml *nvml, const char *address)
{
	struct answer answer = {{0}, {0}, {0}};
	const char *what = "its handle";
	struct kp_diag diag;
	nvml_gpu gpu = NULL;

	report_stage(report, "ask %s", address);
	int status = nvml->by_address(address, &gpu);
	if (status == NVML_SUCCESS)
		status = ask_identity(nvml, gpu, &answer, &what);
	if (status == NVML_SUCCESS) {
		report_line(report, gpu_json(nvml, gpu, address, &answer));
		return;
	}
	(void)nvml_fail(nvml, status, what, address, &diag);
	report_lost(report, address, &diag);
}

static void report_driver(const struct report *report, const struct nvml *nvml)
{
	char version[NVML_TEXT] = "";
	char cuda[32] = "";
	int number = 0;

	(void)nvml->driver_version(version, sizeof(version) - 1);
	if (nvml->cuda_version && nvml->cuda_version(&number) == NVML_SUCCESS &&
		number >= CUDA_MAJOR && number < CUDA_MOST)
		(void)snprintf(cuda, sizeof(cuda), "%d.%d", number / CUDA_MAJOR,
			number % CUDA_MAJOR / CUDA_MINOR);
	report_line(report, json_pack("{s:{s:o, s:o}}", "driver", "version",
				    kp_json_clean_or_null(version), "cuda",
				    kp_json_clean_or_null(cuda)));
}

static int ask_all(const struct report *report, const char *library,
	const json_t *addresses, struct kp_diag *diag)
{
	struct nvml nvml;
	const json_t *address;
	const char *slash = strrchr(library, '/');
	size_t i;

	report_stage(report, "open the library");
	if (nvml_open(library, &nvml, diag) < 0)
		return -1;
	report_stage(report, "initialise");
	int status = nvml.init();
	if (status != NVML_SUCCESS)
		return nvml_fail(
			&nvml, status, "its start", slash ? slash + 1 : library, diag);
	report_stage(report, "ask the driver");
	report_driver(report, &nvml);
	json_array_foreach ((json_t *)(uintptr_t)addresses, i, address)
		ask_gpu(report, &nvml, json_string_value(address));
	return 0;
}

static int run(
	const struct report *report, const json_t *job, const int *fds, size_t n_fds)
{
	const char *library = json_string_value(json_object_get(job, "library"));
	const json_t *addresses = json_object_get(job, "addresses");
	struct kp_diag diag;

	(void)fds;
	(void)n_fds;
	if (!library || !json_is_array(addresses)) {
		kp_diag_set(&diag, "bad_job", NULL, "the job names no library or no GPU");
		report_failed(report, "failed", &diag);
	} else if (ask_all(report, library, addresses, &diag) < 0) {
		report_failed(report, "failed", &diag);
	}
	report_end(report);
	return EXIT_SUCCESS;
}

const struct job_kind job_devices = {.name = "devices", .run = run, .gpu = 1};
