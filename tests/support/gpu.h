/* SPDX-License-Identifier: MIT */
/*
 * The cuda plugin's host half over the fake driver: tensors are copied to the device
 * and back around a call, bands and all.
 */
#ifndef TESTS_SUPPORT_GPU_H
#define TESTS_SUPPORT_GPU_H

#include "tests/support/subject.h"

/* How a call is made. */
enum gpu_way {
	GPU_PLAIN = 0,
	GPU_ALIGNED = 1, /* every tensor starts at 16 bytes, in place of an element's */
	GPU_CAPTURED = 2 /* recorded into a graph, which is launched then */
};

struct gpu {
	void *driver; /* the library */
	void *context;
	void *stream;
	struct subject subject;
	unsigned launches; /* of the last run */
	unsigned others;   /* other functions of the driver that it called */
	void *host_plan;   /* of the last call, until the next */
	uint64_t host_plan_bytes, generation;
};

/* A function of the fake driver; ends the test without it. */
void *gpu_function(const struct gpu *gpu, const char *name);

/* Sets an environment variable and lets the driver read it; NULL takes it away. */
void gpu_set(struct gpu *gpu, const char *name, const char *value);

/*
 * Loads the driver, makes a context and a stream current, and loads the kernel. False
 * when load fails: its status and error are in the subject. gpu_close checks that
 * nothing is left of modules and memory.
 */
bool gpu_open(struct gpu *gpu, const char *kernel);
void gpu_close(struct gpu *gpu);
/* Only the driver and the plugin: nothing is loaded. */
void gpu_begin(struct gpu *gpu, const char *kernel);
int gpu_load(struct gpu *gpu);
void gpu_unload(struct gpu *gpu);

/*
 * Runs with the workspace and the plan that it needs and copies everything back. Ends
 * the test if run calls anything but what enqueues. Returns its status.
 */
int gpu_run(struct gpu *gpu, const struct arguments *arguments, unsigned way);

#endif
