/* SPDX-License-Identifier: MIT */
/* Settings, log and injected errors of the fake driver. */
#include "tests/fake/cuda/fake.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/cuda/query.h"

enum { FUNCTIONS = 128, FAULTS = 16, NAME = 48 };

struct counter {
	char name[NAME];
	unsigned calls;
};

struct fault {
	char name[NAME];
	unsigned at;
	int code;
};

/* The state of a driver is its process's. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_read;
static struct fake_settings settings;
static struct counter counters[FUNCTIONS];
static struct fault faults[FAULTS];
static size_t n_faults;
static int lost;
static char log_path[4096];

void fake_die(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "fake libcuda: ");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\n");
	abort();
}

/* Also as CUDA_FAKE_..., which a worker of plugind gets from the daemon's environment. */
static const char *setting(const char *name)
{
	static const char prefix[] = "KP_FAKE_CUDA_";
	char other[64];
	const char *value = getenv(name);

	(void)snprintf(other, sizeof(other), "CUDA_FAKE_%s", name + strlen(prefix));
	return value ? value : getenv(other);
}

static long number(const char *name, long preset)
{
	const char *text = setting(name);

	return text && *text ? strtol(text, NULL, 10) : preset;
}

static void read_faults(const char *text)
{
	int length = 0;

	n_faults = 0;
	while (text && *text && n_faults < FAULTS) {
		struct fault *fault = &faults[n_faults];

		if (sscanf(text, "%47[A-Za-z0-9_]:%u:%d%n", fault->name, &fault->at,
			    &fault->code, &length) != 3)
			fake_die("KP_FAKE_CUDA_FAIL: FUNCTION:N:CODE expected: %s", text);
		n_faults++;
		text += length;
		text += *text == ',';
	}
}

static void read_settings(void)
{
	const char *arch = setting("KP_FAKE_CUDA_ARCH");
	const char *order = setting("KP_FAKE_CUDA_ORDER");
	const char *path = setting("KP_FAKE_CUDA_LOG");

	settings = (struct fake_settings){
		.devices = (int)number("KP_FAKE_CUDA_DEVICES", 1),
		.major = 9,
		.version = (int)number("KP_FAKE_CUDA_VERSION", 13000),
		.memory = (size_t)number("KP_FAKE_CUDA_MEMORY", 1024) << 20,
		.reversed = order && strcmp(order, "reverse") == 0,
	};
	if (arch && sscanf(arch, "%d.%d", &settings.major, &settings.minor) != 2)
		fake_die("KP_FAKE_CUDA_ARCH: MAJOR.MINOR expected: %s", arch);
	if (settings.devices < 0 || settings.devices > FAKE_DEVICES)
		fake_die("KP_FAKE_CUDA_DEVICES: 0 to %d expected", FAKE_DEVICES);
	(void)snprintf(log_path, sizeof(log_path), "%s", path ? path : "");
	read_faults(setting("KP_FAKE_CUDA_FAIL"));
	memset(counters, 0, sizeof(counters));
	lost = 0;
	is_read = true;
}

const struct fake_settings *fake_settings(void)
{
	return &settings;
}

void fake_log(const char *format, ...)
{
	va_list arguments;
	FILE *file = *log_path ? fopen(log_path, "ae") : NULL;

	if (!file)
		return;
	va_start(arguments, format);
	vfprintf(file, format, arguments);
	va_end(arguments);
	fputc('\n', file);
	fclose(file);
}

/* cuMemAlloc is cuMemAlloc_v2. */
static bool is_named(const char *function, const char *name)
{
	size_t length = strlen(name);

	return strncmp(function, name, length) == 0 &&
	       (!function[length] ||
		       (function[length] == '_' && function[length + 1] == 'v'));
}

static unsigned count(const char *function)
{
	for (size_t i = 0; i < FUNCTIONS; i++) {
		if (!*counters[i].name)
			(void)snprintf(counters[i].name, NAME, "%s", function);
		if (strcmp(counters[i].name, function) == 0)
			return ++counters[i].calls;
	}
	fake_die("too many functions");
}

static bool loses_device(int code)
{
	return code == 700 || (code >= 702 && code <= 703) ||
	       (code >= 714 && code <= 720) || code == 214;
}

void fake_lose(int code)
{
	lost = code;
}

struct fake_call fake_enter(const char *function)
{
	struct fake_call call = {FAKE_OK};

	pthread_mutex_lock(&lock);
	if (!is_read)
		read_settings();
	unsigned calls = count(function);

	fake_log("%s", function);
	call.result = lost;
	for (size_t i = 0; i < n_faults; i++)
		if (is_named(function, faults[i].name) &&
			(faults[i].at == 0 || faults[i].at == calls))
			call.result = faults[i].code;
	if (loses_device(call.result))
		lost = call.result;
	if (call.result == FAKE_OK && !fake_initialized() &&
		strcmp(function, "cuInit") != 0)
		call.result = FAKE_NOT_INITIALIZED;
	return call;
}

void fake_leave(struct fake_call *call)
{
	(void)call;
	pthread_mutex_unlock(&lock);
}

void fake_cuda_reset(void)
{
	pthread_mutex_lock(&lock);
	fake_graph_reset();
	fake_stream_reset();
	fake_module_reset();
	fake_memory_reset();
	fake_device_reset();
	read_settings();
	pthread_mutex_unlock(&lock);
}

unsigned fake_cuda_calls(const char *function)
{
	unsigned calls = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (!function || is_named(counters[i].name, function))
			calls += counters[i].calls;
	pthread_mutex_unlock(&lock);
	return calls;
}

size_t fake_cuda_memory(void)
{
	pthread_mutex_lock(&lock);
	size_t used = fake_memory_used();
	pthread_mutex_unlock(&lock);
	return used;
}
