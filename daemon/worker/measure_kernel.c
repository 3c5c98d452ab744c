/* SPDX-License-Identifier: MIT */
/* Loading a kernel in the order that kplug/plugin.h promises to plugins. */
#include "daemon/worker/measure_kernel.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/elf_image.h"
#include "daemon/worker/note_elf.h"
#include "lib/base/file.h"
#include "lib/base/floats.h"
#include "lib/base/json.h"
#include "lib/plugin/abi.h"

enum { STACK = 64 << 10 };

/* ---- failures ---------------------------------------------------------------------- */

static const char *verdict_of(int status)
{
	switch (status) {
	case KP_UNAVAILABLE:
		return "unavailable";
	case KP_UNSUPPORTED:
		return "unsupported";
	default:
		return "error";
	}
}

int measure_kernel_judge(struct measure_kernel *kernel, const char *function, int raw,
	struct kp_diag *diag)
{
	char status[64];

	if (raw == KP_OK)
		return 0;
	int known = kp_error_settle(&kernel->error, raw);
	const char *text = kernel->error.text;
	return kp_diag_set(diag, verdict_of(known), function, "%s returned %s%s%s",
		function, kp_status_text(raw, status, sizeof(status)), *text ? ": " : "",
		text);
}

static int fail(struct kp_diag *diag, const struct kp_diag *cause)
{
	return kp_diag_set(diag, "error", cause->object, "%s", cause->message);
}

/* ---- the plugin -------------------------------------------------------------------- */

/* What identify found and judged before; read again, since only the file is trusted. */
static int read_note(
	struct measure_kernel *kernel, const char *stored, struct kp_diag *diag)
{
	struct elf_image image = {0};
	struct kp_diags warnings = {0};
	const char *text;
	size_t size;
	__attribute__((cleanup(kp_file_close))) int fd =
		kp_file_open(AT_FDCWD, stored, NULL, diag);

	if (fd < 0)
		return -1;
	int failed = elf_image_open(fd, stored, &image, diag) < 0 ||
		     note_elf_find(&image, &text, &size, diag) < 0 ||
		     kp_note_parse(text, size, &kernel->note, &warnings, diag) < 0;
	elf_image_finish(&image);
	kp_diags_finish(&warnings);
	return failed ? -1 : 0;
}

static int open_plugin(
	struct measure_kernel *kernel, const json_t *job, struct kp_diag *diag)
{
	const char *stored = json_string_value(json_object_get(job, "stored"));
	const char *name = json_string_value(json_object_get(job, "kernel"));
	struct kp_diag cause;

	if (!stored || !name)
		return kp_diag_set(diag, "error", NULL, "the job names no kernel");
	if (read_note(kernel, stored, &cause) < 0 ||
		loaded_open(stored, &kernel->note, &kernel->loaded, &cause) < 0)
		return fail(diag, &cause);
	if (!kp_note_find(&kernel->note, name))
		return kp_diag_set(
			diag, "error", name, "the stored library has no kernel %s", name);
	kernel->functions = loaded_kernel(&kernel->loaded, name);
	return 0;
}

static int start_plugin(
	struct measure_kernel *kernel, const json_t *job, struct kp_diag *diag)
{
	const struct kp_plugin *plugin = kernel->loaded.plugin;
	const json_t *config = json_object_get(job, "config");
	void *state = NULL;

	if (!KP_COVERS(plugin, start) || !plugin->start)
		return 0;
	/* The plugin may keep it. */
	char *text = json_is_object(config) ? kp_json_dumps(config, JSON_COMPACT)
					    : strdup("{}");
	if (!text)
		return kp_diag_set(diag, "error", NULL, "memory is exhausted");
	kp_error_reset(&kernel->error);
	int status = plugin->start(&kernel->host.host, text, &state, &kernel->error);
	if (measure_kernel_judge(kernel, "start", status, diag) < 0)
		return -1;
	kernel->call.state = state;
	return 0;
}

static int load_kernel(struct measure_kernel *kernel, struct kp_diag *diag)
{
	void *device_state = NULL;

	if (!kernel->functions->load)
		return 0;
	kp_error_reset(&kernel->error);
	int status = kernel->functions->load(
		kernel->call.state, &kernel->device->told, &device_state, &kernel->error);
	if (measure_kernel_judge(kernel, "load", status, diag) < 0)
		return -1;
	kernel->call.device_state = device_state;
	return 0;
}

/* ---- the call ---------------------------------------------------------------------- */

static void make_call(struct measure_kernel *kernel, const struct measure_case *c)
{
	void *state = kernel->call.state, *device_state = kernel->call.device_state;

	kernel->call = (struct kp_call){
		KP_SIZED(struct kp_call),
		.n_tensors = (uint32_t)c->family.n_roles,
		.n_attrs = (uint32_t)c->family.n_attributes,
		.tensors = c->tensors,
		.attrs = c->attributes,
		.error = &kernel->error,
		.host = &kernel->host.host,
		.device = &kernel->device->told,
		.stream = kernel->device->stream,
		.state = state,
		.device_state = device_state,
		.generation = 1,
	};
}

int measure_kernel_need(struct measure_kernel *kernel,
	const struct kp_tensor *const *tensors, struct kp_need *need,
	struct kp_diag *diag)
{
	struct kp_tensor memory[KP_FAMILY_ROLES];
	const struct kp_tensor *without_data[KP_FAMILY_ROLES];
	struct kp_call call = kernel->call;

	*need = (struct kp_need){.size = (uint32_t)sizeof(*need)};
	if (!kernel->functions->need)
		return 0;
	for (size_t i = 0; i < call.n_tensors; i++) {
		without_data[i] = tensors[i] ? &memory[i] : NULL;
		if (!tensors[i])
			continue;
		memory[i] = *tensors[i];
		memory[i].data = NULL;
	}
	call.tensors = without_data;
	kp_error_reset(&kernel->error);
	return measure_kernel_judge(
		kernel, "need", kernel->functions->need(&call, need), diag);
}

static int check_need(const struct measure_case *c, const char *name, uint64_t bytes,
	uint64_t align, struct kp_diag *diag)
{
	struct kp_diag cause;

	if (align & (align - 1) || align > (1 << 20) || bytes > PTRDIFF_MAX)
		return kp_diag_set(diag, "error", name,
			"need asks for %llu bytes of %s with alignment %llu",
			(unsigned long long)bytes, name, (unsigned long long)align);
	/* It would be there until somebody writes to it, and then end others. */
	return measure_case_check_room(c, name, bytes, &cause) < 0 ? fail(diag, &cause)
								   : 0;
}

/* On the device. 0 bytes: no memory, NULL. */
static int give(struct measure_case *c, const char *name, uint64_t bytes, uint64_t align,
	const struct device_piece **piece, void **memory, struct kp_diag *diag)
{
	struct kp_diag cause;

	*piece = NULL;
	*memory = NULL;
	if (check_need(c, name, bytes, align, diag) < 0)
		return -1;
	if (bytes == 0)
		return 0;
	*piece = measure_case_add(c, name, bytes, align ? align : 1, &cause);
	if (!*piece)
		return fail(diag, &cause);
	*memory = (*piece)->address;
	return 0;
}

static int give_host(struct measure_case *c, uint64_t bytes, uint64_t align,
	void **memory, struct kp_diag *diag)
{
	static const char name[] = "host_plan";
	struct kp_diag cause;

	*memory = NULL;
	if (check_need(c, name, bytes, align, diag) < 0)
		return -1;
	if (bytes == 0)
		return 0;
	struct fence *fence =
		fence_add(&c->fences, name, bytes, align ? align : 1, &cause);
	if (!fence)
		return fail(diag, &cause);
	*memory = fence->data;
	return 0;
}

static int meet_need(
	struct measure_kernel *kernel, struct measure_case *c, struct kp_diag *diag)
{
	struct kp_need need;
	struct kp_call *call = &kernel->call;

	if (measure_kernel_need(kernel, c->tensors, &need, diag) < 0)
		return -1;
	call->workspace_bytes = need.workspace_bytes;
	call->plan_bytes = need.plan_bytes;
	call->host_plan_bytes = need.host_plan_bytes;
	if (give(c, "workspace", need.workspace_bytes, need.workspace_align,
		    &kernel->workspace, &call->workspace, diag) < 0 ||
		give(c, "plan", need.plan_bytes, need.plan_align, &kernel->plan,
			&call->plan, diag) < 0)
		return -1;
	return give_host(
		c, need.host_plan_bytes, need.host_plan_align, &call->host_plan, diag);
}

int measure_kernel_attach(struct measure_kernel *kernel, const struct report *report,
	struct measure_case *c, struct kp_diag *diag)
{
	make_call(kernel, c);
	report_stage(report, "%s need", kernel->kind);
	if (meet_need(kernel, c, diag) < 0)
		return -1;
	report_stage(report, "%s plan", kernel->kind);
	return 0;
}

/* Memory that nobody promised to hold anything. */
static int soil(struct measure_kernel *kernel, const struct device_piece *piece,
	struct kp_diag *diag)
{
	if (!kernel->dirty || !piece)
		return 0;
	return kernel->device->kind->soil(kernel->device, piece, diag);
}

int measure_kernel_plan(struct measure_kernel *kernel, struct kp_diag *diag)
{
	const struct kp_call *call = &kernel->call;

	if (!kernel->functions->plan)
		return 0;
	if (soil(kernel, kernel->plan, diag) < 0)
		return -1;
	if (kernel->dirty && call->host_plan)
		memset(call->host_plan, 0xff, call->host_plan_bytes);
	kp_error_reset(&kernel->error);
	measure_host_reset(&kernel->host);
	return measure_kernel_judge(
		kernel, "plan", kernel->functions->plan(&kernel->call), diag);
}

/* "threads" of the job; one thread where it says nothing. */
static int open_host(
	struct measure_kernel *kernel, const json_t *job, struct kp_diag *diag)
{
	const json_t *asked = json_object_get(job, "threads");
	json_int_t threads = asked ? json_integer_value(asked) : 1;
	struct kp_diag cause;

	if (threads < 0 || threads > KP_PARALLEL_MOST)
		threads = 0;
	if (measure_host_init(&kernel->host, (unsigned)threads, &cause) < 0)
		return fail(diag, &cause);
	return 0;
}

int measure_kernel_open(struct measure_kernel *kernel, const struct report *report,
	const json_t *job, struct device *device, struct kp_diag *diag)
{
	const char *kind = json_string_value(json_object_get(job, "kind"));

	kernel->kind = kind ? kind : "";
	kernel->device = device;
	if (open_host(kernel, job, diag) < 0)
		return -1;
	kernel->host.dirty = kernel->dirty;
	report_stage(report, "%s load", kernel->kind);
	if (open_plugin(kernel, job, diag) < 0)
		return -1;
	report_stage(report, "%s start", kernel->kind);
	if (start_plugin(kernel, job, diag) < 0)
		return -1;
	report_stage(report, "%s load kernel", kernel->kind);
	return load_kernel(kernel, diag);
}

void measure_kernel_close(struct measure_kernel *kernel, const struct report *report)
{
	const struct kp_plugin *plugin = kernel->loaded.plugin;

	report_stage(report, "%s unload", kernel->kind);
	if (kernel->functions->unload)
		kernel->functions->unload(kernel->call.state, kernel->call.device_state);
	report_stage(report, "%s stop", kernel->kind);
	if (KP_COVERS(plugin, stop) && plugin->stop)
		plugin->stop(kernel->call.state);
}

/* Frames below the caller's are left full of numbers that are none. */
static __attribute__((noinline)) void soil_stack(void)
{
	volatile unsigned char frame[STACK];

	for (size_t i = 0; i < sizeof(frame); i++)
		frame[i] = 0xff;
}

int measure_kernel_run(struct measure_kernel *kernel, struct kp_diag *diag)
{
	struct kp_floats before = kp_floats_now(), after;

	kp_error_reset(&kernel->error);
	if (soil(kernel, kernel->workspace, diag) < 0)
		return -1;
	if (kernel->dirty)
		soil_stack();
	int status = measure_kernel_call(kernel);
	after = kp_floats_now();
	if (!kp_floats_equal(&before, &after)) {
		kernel->changes_floats = true;
		kp_floats_restore(&before);
	}
	if (measure_kernel_judge(kernel, "run", status, diag) < 0)
		return -1;
	return kernel->device->kind->wait(kernel->device, diag);
}
