/* SPDX-License-Identifier: MIT */
/* Calls the cuda plugin the way a host does, with the fake driver below it. */
#include "tests/support/gpu.h"

#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long pointer;

/* A tensor on the device, with the memory around it. */
struct mirror {
	const struct guarded *host;
	struct kp_tensor tensor;
	pointer memory;
	size_t shift;
};

void *gpu_function(const struct gpu *gpu, const char *name)
{
	void *function = dlsym(gpu->driver, name);

	ck_assert_msg(function != NULL, "the fake driver has no %s", name);
	return function;
}

/* Calls a function that returns a CUresult, which must be 0. */
#define CALL(gpu, name, types, ...)                                                      \
	do {                                                                             \
		int(*function) types = gpu_function(gpu, name);                          \
		ck_assert_msg(function(__VA_ARGS__) == 0, "%s fails", name);             \
	} while (0)

static unsigned calls(const struct gpu *gpu, const char *name)
{
	unsigned (*count)(const char *) = gpu_function(gpu, "fake_cuda_calls");

	return count(name);
}

void gpu_set(struct gpu *gpu, const char *name, const char *value)
{
	void (*reset)(void) = gpu_function(gpu, "fake_cuda_reset");

	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
	reset();
}

static const char *below(const char *name, char path[4096])
{
	const char *build = getenv("KPLUG_BUILD");

	snprintf(path, 4096, "%s/tests/fake/%s", build ? build : "build", name);
	return path;
}

/* The plugin's dlopen finds it by its soname, since it is loaded already. */
static void open_driver(struct gpu *gpu)
{
	char path[4096];

	gpu->driver = dlopen(below("libcuda.so.1", path), RTLD_NOW | RTLD_GLOBAL);
	ck_assert_msg(gpu->driver != NULL, "%s", dlerror());
	/* What the environment says now counts, also in a process that had it open. */
	void (*reset)(void) = gpu_function(gpu, "fake_cuda_reset");

	reset();
	/* A test's own choice stays. */
	setenv("KPLUG_CUBLASLT", below("libcublasLt.so.13", path), 0);
}

static void make_context(struct gpu *gpu)
{
	CALL(gpu, "cuInit", (unsigned), 0);
	CALL(gpu, "cuDevicePrimaryCtxRetain", (void **, int), &gpu->context, 0);
	CALL(gpu, "cuCtxSetCurrent", (void *), gpu->context);
	CALL(gpu, "cuStreamCreate", (void **, unsigned), &gpu->stream, 1);
}

void gpu_begin(struct gpu *gpu, const char *kernel)
{
	struct subject *subject = &gpu->subject;
	char path[4096];

	memset(gpu, 0, sizeof(*gpu));
	open_driver(gpu);
	subject->plugin = "cuda";
	subject->error.size = sizeof(subject->error);
	subject->handle = dlopen(below("plugins/cuda.so", path), RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(subject->handle != NULL, "%s", dlerror());
	subject->code = dlsym(subject->handle, "kplug_plugin");
	ck_assert_ptr_nonnull(subject->code);
	for (uint32_t i = 0; i < subject->code->n_entries; i++)
		if (strcmp(subject->code->entries[i]->name, kernel) == 0)
			subject->kernel = subject->code->entries[i]->vtable;
	ck_assert_msg(subject->kernel != NULL, "there is no kernel %s", kernel);
}

int gpu_load(struct gpu *gpu)
{
	struct kp_device device = {KP_SIZED(struct kp_device), .type = KP_DEVICE_CUDA};

	device.context = gpu->context;
	return gpu->subject.kernel->load(
		NULL, &device, &gpu->subject.device_state, &gpu->subject.error);
}

void gpu_unload(struct gpu *gpu)
{
	if (gpu->subject.device_state)
		gpu->subject.kernel->unload(NULL, gpu->subject.device_state);
	gpu->subject.device_state = NULL;
}

bool gpu_open(struct gpu *gpu, const char *kernel)
{
	gpu_begin(gpu, kernel);
	make_context(gpu);
	return gpu_load(gpu) == KP_OK;
}

void gpu_close(struct gpu *gpu)
{
	unsigned (*modules)(void) = gpu_function(gpu, "fake_cuda_modules");
	size_t (*memory)(void) = gpu_function(gpu, "fake_cuda_memory");
	void (*reset)(void) = gpu_function(gpu, "fake_cuda_reset");

	gpu_unload(gpu);
	ck_assert_uint_eq(modules(), 0);
	ck_assert_uint_eq(memory(), 0);
	free(gpu->host_plan);
	dlclose(gpu->subject.handle);
	reset();
	memset(gpu, 0, sizeof(*gpu));
}

/* ---- tensors ------------------------------------------------------------------------
 */

static size_t size_of(const struct guarded *host)
{
	return (size_t)host->total * host->bytes;
}

static void make_mirror(
	struct gpu *gpu, struct mirror *mirror, const struct guarded *host, unsigned way)
{
	size_t offset = (size_t)((char *)host->tensor.data - (char *)host->memory);

	mirror->host = host;
	mirror->tensor = host->tensor;
	mirror->shift = way & GPU_ALIGNED ? (16 - offset % 16) % 16 : 0;
	CALL(gpu, "cuMemAlloc_v2", (pointer *, size_t), &mirror->memory,
		mirror->shift + size_of(host));
	mirror->tensor.data =
		(void *)(uintptr_t)(mirror->memory + mirror->shift + offset);
	mirror->tensor.device = (struct kp_place){KP_DEVICE_CUDA, 0};
	CALL(gpu, "cuMemcpyHtoD_v2", (pointer, const void *, size_t),
		mirror->memory + mirror->shift, host->memory, size_of(host));
}

static void download(struct gpu *gpu, struct mirror *mirror)
{
	CALL(gpu, "cuMemcpyDtoH_v2", (void *, pointer, size_t), mirror->host->memory,
		mirror->memory + mirror->shift, size_of(mirror->host));
}

/* ---- calls --------------------------------------------------------------------------
 */

struct run {
	struct kp_call call;
	struct mirror mirrors[SUBJECT_ROLES];
	const struct kp_tensor *tensors[SUBJECT_ROLES];
	pointer workspace;
};

/* Roles that are the same struct share memory: a result in place. */
static void place_roles(
	struct gpu *gpu, const struct arguments *arguments, unsigned way, struct run *run)
{
	for (uint32_t i = 0; i < arguments->n_roles; i++) {
		if (!arguments->roles[i])
			continue;
		run->tensors[i] = &run->mirrors[i].tensor;
		for (uint32_t j = 0; j < i; j++)
			if (arguments->roles[j] == arguments->roles[i])
				run->tensors[i] = run->tensors[j];
		if (run->tensors[i] == &run->mirrors[i].tensor)
			make_mirror(gpu, &run->mirrors[i], arguments->roles[i], way);
	}
}

static void prepare(
	struct gpu *gpu, const struct arguments *arguments, unsigned way, struct run *run)
{
	memset(run, 0, sizeof(*run));
	memset(&gpu->subject.error, 0, sizeof(gpu->subject.error));
	gpu->subject.error.size = sizeof(gpu->subject.error);
	place_roles(gpu, arguments, way, run);
	run->call = (struct kp_call){KP_SIZED(struct kp_call),
		.n_tensors = arguments->n_roles, .n_attrs = arguments->n_attributes,
		.tensors = run->tensors, .attrs = arguments->attributes,
		.error = &gpu->subject.error, .device_state = gpu->subject.device_state,
		.stream = gpu->stream, .generation = gpu->generation};
}

static void meet_need(struct gpu *gpu, struct run *run, uint64_t withheld)
{
	struct kp_need need = {.size = sizeof(need)};

	if (!gpu->subject.kernel->need)
		return;
	ck_assert_int_eq(gpu->subject.kernel->need(&run->call, &need), KP_OK);
	ck_assert_uint_ge(need.workspace_bytes, withheld);
	run->call.workspace_bytes = need.workspace_bytes - withheld;
	if (run->call.workspace_bytes > 0)
		CALL(gpu, "cuMemAlloc_v2", (pointer *, size_t), &run->workspace,
			run->call.workspace_bytes);
	run->call.workspace = (void *)(uintptr_t)run->workspace;
	free(gpu->host_plan);
	gpu->host_plan = need.host_plan_bytes ? malloc(need.host_plan_bytes) : NULL;
	gpu->host_plan_bytes = need.host_plan_bytes;
	run->call.host_plan = gpu->host_plan;
	run->call.host_plan_bytes = need.host_plan_bytes;
}

static void launch_graph(struct gpu *gpu)
{
	void *graph = NULL, *exec = NULL;

	CALL(gpu, "cuStreamEndCapture", (void *, void **), gpu->stream, &graph);
	CALL(gpu, "cuGraphInstantiateWithFlags", (void **, void *, unsigned long long),
		&exec, graph, 0);
	CALL(gpu, "cuGraphLaunch", (void *, void *), exec, gpu->stream);
	CALL(gpu, "cuStreamSynchronize", (void *), gpu->stream);
	CALL(gpu, "cuGraphExecDestroy", (void *), exec);
	CALL(gpu, "cuGraphDestroy", (void *), graph);
}

static unsigned enqueued(const struct gpu *gpu)
{
	return calls(gpu, "cuLaunchKernel") + calls(gpu, "cuMemsetD2D8Async") +
	       calls(gpu, "fake_cuda_enqueue");
}

static int run_call(struct gpu *gpu, struct run *run, unsigned way)
{
	unsigned before = calls(gpu, NULL), launches = enqueued(gpu);
	int status;

	if (way & GPU_CAPTURED)
		CALL(gpu, "cuStreamBeginCapture_v2", (void *, int), gpu->stream, 0);
	before += (way & GPU_CAPTURED) != 0;
	status = gpu->subject.kernel->run(&run->call);
	gpu->launches = enqueued(gpu) - launches;
	gpu->others = calls(gpu, NULL) - before - gpu->launches;
	ck_assert_msg(gpu->others == 0, "run calls the driver for more than to enqueue");
	if (way & GPU_CAPTURED)
		launch_graph(gpu);
	return status;
}

static void give_back(struct gpu *gpu, struct run *run, bool lost)
{
	int (*release)(pointer) = gpu_function(gpu, "cuMemFree_v2");

	for (int i = 0; i < SUBJECT_ROLES; i++) {
		if (!run->mirrors[i].memory)
			continue;
		if (!lost)
			download(gpu, &run->mirrors[i]);
		ck_assert(release(run->mirrors[i].memory) == 0 || lost);
	}
	if (run->workspace)
		ck_assert(release(run->workspace) == 0 || lost);
}

int gpu_run(struct gpu *gpu, const struct arguments *arguments, unsigned way)
{
	struct run run;
	int status = KP_OK;

	prepare(gpu, arguments, way, &run);
	meet_need(gpu, &run, arguments->withheld);
	if (gpu->subject.kernel->plan)
		status = gpu->subject.kernel->plan(&run.call);
	if (status == KP_OK)
		status = run_call(gpu, &run, way);
	give_back(gpu, &run, status == KP_DEVICE_LOST);
	return status;
}
