/* SPDX-License-Identifier: MIT */
/*
 * Plays NVIDIA's management library. NVIDIA_FAKE says what: "MODEL COUNT [FAULT [N]]",
 * MODEL h200, h100 or gb10 (whose memory is not its own), GPUs at 0000:18:00.0,
 * 0000:19:00.0, ...; a fault of one GPU is that of number N, else of all.
 *
 * Faults: not_loaded, mismatch, denied, hang (at the start), crash; of a GPU: lost,
 * hang_gpu, denied_gpu, no_arch, no_memory, absent, odd (texts and numbers that no GPU
 * has); low, high and near: versions and clocks that are too low, too high, just beyond.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { FIRST_BUS = 0x18, GPUS = 64 };

struct model {
	const char *word, *name;
	int major, minor;
	unsigned long long memory;
	unsigned sm_mhz, memory_mhz;
};
static const struct model models[] = {
	{"h200", "NVIDIA H200", 9, 0, 150754820096ULL, 1980, 3201},
	{"h100", "NVIDIA H100 80GB HBM3", 9, 0, 85520809984ULL, 1980, 2619},
	{"gb10", "NVIDIA GB10", 12, 1, 0, 2418, 0},
};

/* A handle is the number of a GPU, and one. */
static struct {
	const struct model *model;
	int count;
	char fault[32];
	int faulty; /* -1: all */
} play;

static int has_fault(const char *fault, const void *gpu)
{
	int number = (int)(size_t)gpu - 1;
	return strcmp(play.fault, fault) == 0 &&
	       (play.faulty < 0 || play.faulty == number);
}

static void hang(void)
{
	for (;;)
		pause();
}

EXPORT int nvmlInit_v2(void)
{
	const char *text = getenv("NVIDIA_FAKE");
	char word[32] = "";
	play.faulty = -1;
	if (!text || sscanf(text, "%31s %d %31s %d", word, &play.count, play.fault,
			     &play.faulty) < 2)
		abort();
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (strcmp(models[i].word, word) == 0)
			play.model = &models[i];
	if (!play.model || play.count > GPUS)
		abort();
	if (has_fault("hang", NULL))
		hang();
	if (has_fault("crash", NULL))
		abort();
	return has_fault("not_loaded", NULL) ? 9
	       : has_fault("mismatch", NULL) ? 18
	       : has_fault("denied", NULL)   ? 4
					     : 0;
}

EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
	return snprintf(text, size, "580.82.07") < 0;
}

/* The number, or another one by a fault. */
static unsigned odd(unsigned number, unsigned low, unsigned high, unsigned near)
{
	return strcmp(play.fault, "low") == 0	 ? low
	       : strcmp(play.fault, "high") == 0 ? high
	       : strcmp(play.fault, "near") == 0 ? near
						 : number;
}

EXPORT int nvmlSystemGetCudaDriverVersion(int *version)
{
	*version = (int)odd(13000, 1U << 31, ~0U >> 1, 999);
	return 0;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **gpu)
{
	unsigned domain, bus, device;
	if (sscanf(address, "%x:%x:%x", &domain, &bus, &device) != 3 || domain ||
		device || bus < FIRST_BUS || bus >= FIRST_BUS + (unsigned)play.count)
		return 6;
	*gpu = (void *)(size_t)(bus - FIRST_BUS + 1);
	if (has_fault("hang_gpu", *gpu))
		hang();
	return has_fault("lost", *gpu)	       ? 15
	       : has_fault("denied_gpu", *gpu) ? 4
	       : has_fault("absent", *gpu)     ? 6
					       : 0;
}

EXPORT int nvmlDeviceGetUUID(void *gpu, char *text, unsigned size)
{
	if (has_fault("odd", gpu))
		return (int)(memset(text, 0xff, size) == NULL);
	return snprintf(text, size, "GPU-00000000-0000-4000-8000-0000000000%02x",
		       (unsigned)(size_t)gpu) < 0;
}

EXPORT int nvmlDeviceGetName(void *gpu, char *text, unsigned size)
{
	if (has_fault("odd", gpu))
		return snprintf(text, size, "\x1b[2J\xff evil") < 0;
	return snprintf(text, size, "%s", play.model->name) < 0;
}

EXPORT int nvmlDeviceGetCudaComputeCapability(void *gpu, int *major, int *minor)
{
	*major = has_fault("odd", gpu) ? -7 : play.model->major;
	*minor = play.model->minor;
	return has_fault("no_arch", gpu) ? 3 : 0;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *gpu, unsigned long long memory[3])
{
	memory[0] = has_fault("odd", gpu) ? ~0ULL : play.model->memory;
	memory[1] = memory[0] / 2;
	memory[2] = memory[0] - memory[1];
	return has_fault("no_memory", gpu) || !play.model->memory ? 3 : 0;
}

EXPORT int nvmlDeviceGetEccMode(void *gpu, unsigned *current, unsigned *pending)
{
	(void)gpu;
	*current = *pending = 1;
	return 0;
}

EXPORT int nvmlDeviceGetMigMode(void *gpu, unsigned *current, unsigned *pending)
{
	(void)gpu;
	*current = *pending = 0;
	return play.model->major >= 12 ? 3 : 0;
}

EXPORT int nvmlDeviceGetClockInfo(void *gpu, int which, unsigned *mhz)
{
	*mhz = odd(which == 2 ? play.model->memory_mhz : 345, 0, ~0U, 100001);
	if (has_fault("low", gpu))
		return 0;
	return *mhz ? 0 : 3;
}

EXPORT int nvmlDeviceGetMaxClockInfo(void *gpu, int which, unsigned *mhz)
{
	*mhz = odd(
		which == 2 ? play.model->memory_mhz : play.model->sm_mhz, 0, ~0U, 100001);
	if (has_fault("low", gpu))
		return 0;
	return *mhz ? 0 : 3;
}

EXPORT const char *nvmlErrorString(int status)
{
	return status == 3 ? "Not Supported" : "Unknown Error";
}
