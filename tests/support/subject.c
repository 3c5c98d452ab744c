/* SPDX-License-Identifier: MIT */
/* Loads a built plugin and calls a kernel the way the host does. */
#include "tests/support/subject.h"

#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/suite.h"

/* Bytes on both sides of the workspace, and what they hold. */
enum { BAND = 4096, POISON = 0xa5 };

const char *subject_path(const char *plugin, char *path, size_t size)
{
	const char *build = getenv("KPLUG_BUILD");

	snprintf(path, size, "%s/plugins/%s.so", build ? build : "build", plugin);
	return path;
}

static const struct kp_kernel *find(const struct kp_plugin *code, const char *kernel)
{
	for (uint32_t i = 0; i < code->n_entries; i++)
		if (strcmp(code->entries[i]->name, kernel) == 0)
			return code->entries[i]->vtable;
	return NULL;
}

bool subject_open(struct subject *subject, const char *plugin, const char *kernel)
{
	char path[4096];
	struct kp_device cpu = {KP_SIZED(struct kp_device), .type = KP_DEVICE_CPU};

	memset(subject, 0, sizeof(*subject));
	subject->plugin = plugin;
	subject->error.size = sizeof(subject->error);
	subject->handle =
		dlopen(subject_path(plugin, path, sizeof(path)), RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(subject->handle != NULL, "%s: %s", path, dlerror());
	subject->code = dlsym(subject->handle, "kplug_plugin");
	ck_assert_ptr_nonnull(subject->code);
	subject->kernel = find(subject->code, kernel);
	ck_assert_msg(subject->kernel != NULL, "%s has no kernel %s", plugin, kernel);
	if (subject->kernel->available &&
		subject->kernel->available(&cpu, &subject->error) != KP_OK) {
		(void)snprintf(path, sizeof(path), "%s/%s", plugin, kernel);
		suite_skip(path, subject->error.text);
		return false;
	}
	if (subject->kernel->load)
		ck_assert_msg(subject->kernel->load(NULL, &cpu, &subject->device_state,
				      &subject->error) == KP_OK,
			"%s: %s", plugin, subject->error.text);
	return true;
}

void subject_close(struct subject *subject)
{
	if (subject->kernel && subject->kernel->unload && subject->device_state)
		subject->kernel->unload(NULL, subject->device_state);
	if (subject->handle)
		dlclose(subject->handle);
	memset(subject, 0, sizeof(*subject));
}

/* A call, and the copies of its tensors that it may point to. */
struct request {
	struct kp_call call;
	const struct kp_tensor *tensors[SUBJECT_ROLES];
	struct kp_tensor bare[SUBJECT_ROLES];
};

static void prepare(struct request *request, struct subject *subject,
	const struct arguments *arguments)
{
	memset(request, 0, sizeof(*request));
	memset(&subject->error, 0, sizeof(subject->error));
	subject->error.size = sizeof(subject->error);
	for (uint32_t i = 0; i < arguments->n_roles; i++)
		request->tensors[i] =
			arguments->roles[i] ? &arguments->roles[i]->tensor : NULL;
	request->call.size = sizeof(request->call);
	request->call.n_tensors = arguments->n_roles;
	request->call.n_attrs = arguments->n_attributes;
	request->call.tensors = request->tensors;
	request->call.attrs = arguments->attributes;
	request->call.error = &subject->error;
	request->call.device_state = subject->device_state;
	request->call.host = subject->host;
}

static void ask(
	struct subject *subject, const struct arguments *arguments, struct kp_need *need)
{
	struct request request;

	memset(need, 0, sizeof(*need));
	need->size = sizeof(*need);
	if (!subject->kernel->need)
		return;
	prepare(&request, subject, arguments);
	for (uint32_t i = 0; i < arguments->n_roles; i++) {
		if (!request.tensors[i])
			continue;
		request.bare[i] = *request.tensors[i];
		request.bare[i].data = NULL;
		request.tensors[i] = &request.bare[i];
	}
	ck_assert_msg(subject->kernel->need(&request.call, need) == KP_OK, "%s: %s",
		subject->plugin, subject->error.text);
}

uint64_t subject_need(struct subject *subject, const struct arguments *arguments)
{
	struct kp_need need;

	ask(subject, arguments, &need);
	return need.workspace_bytes;
}

static bool all_poison(const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != POISON)
			return false;
	return true;
}

int subject_run(struct subject *subject, const struct arguments *arguments)
{
	struct request request;
	struct kp_need need;
	void *memory = NULL;
	unsigned char *bytes;
	size_t given;
	int status;

	ask(subject, arguments, &need);
	ck_assert_uint_ge(need.workspace_bytes, arguments->withheld);
	given = need.workspace_bytes - arguments->withheld;
	ck_assert_int_eq(posix_memalign(&memory, BAND, 2 * BAND + given), 0);
	bytes = memory;
	memset(bytes, POISON, 2 * BAND + given);
	prepare(&request, subject, arguments);
	request.call.workspace = given > 0 ? bytes + BAND : NULL;
	request.call.workspace_bytes = given;
	status = subject->kernel->run(&request.call);
	subject->workspace_intact =
		all_poison(bytes, BAND) && all_poison(bytes + BAND + given, BAND);
	free(memory);
	return status;
}
