/* SPDX-License-Identifier: MIT */
/* dlopen, start and load, each once; nothing is unmapped under a caller. */
#include "lib/host/code.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/floats.h"
#include "lib/base/text.h"
#include "lib/host/bundle.h"
#include "lib/host/serial.h"
#include "lib/host/services.h"
#include "lib/plugin/abi.h"
#include "lib/plugin/loader.h"

enum { LIST_SHOWN = 300, WORDS = 400 };

struct kp_code_kernel {
	struct kp_code *code;
	const char *name;
	struct kp_kernel functions;
	pthread_mutex_t serial;
	struct kp_loaded *loaded; /* for each device */
};

struct kp_code {
	struct kp_code *next;
	char *stored;
	const struct kp_plugin *plugin;
	void *state;
	char *config; /* the plugin may keep it */
	size_t count;
	struct kp_code_kernel *kernels;
	struct kp_diag failure; /* code NULL: it is usable */
};

/* A plugin that is being started or loaded may fork. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct kp_code *all;

static void before_fork(void)
{
	(void)pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	(void)pthread_mutex_unlock(&lock);
}

/*
 * A child has the code of its parent, and may open more. Whoever had a lock is not here,
 * or is this thread, which may leave what it is not in.
 */
static void in_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	for (struct kp_code *code = all; code; code = code->next)
		for (size_t i = 0; i < code->count; i++)
			if (kp_serial_init(&code->kernels[i].serial) < 0)
				kp_diag_no_memory(&code->failure);
}

static void init(void)
{
	(void)pthread_atfork(before_fork, after_fork, in_child);
}

/* ---- mapping ----------------------------------------------------------------------- */

static int load_failed(struct kp_diag *diag)
{
	const char *words = dlerror();
	const char *name;
	char clean[WORDS];

	kp_text_clean(
		words ? words : "the loader does not say why", clean, sizeof(clean));
	const char *code = kp_loader_code(clean, &name);
	if (strcmp(code, "no_memory") == 0)
		return kp_diag_no_memory(diag);
	return kp_diag_set(diag, code, NULL, "cannot be loaded here: %s", clean);
}

static int map(
	struct kp_code *code, const struct kp_code_wanted *wanted, struct kp_diag *diag)
{
	if (kp_bundle_check(wanted->stored, wanted->closure, diag) < 0)
		return -1;
	void *handle = dlopen(wanted->stored, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return load_failed(diag);
	code->plugin = dlsym(handle, "kplug_plugin");
	if (!code->plugin)
		return kp_diag_set(diag, "no_plugin_symbol", "kplug_plugin",
			"%s does not export kplug_plugin", wanted->stored);
	return kp_abi_check(code->plugin, diag);
}

static const struct kp_entry *find_entry(const struct kp_plugin *plugin, const char *name)
{
	for (uint32_t i = 0; i < plugin->n_entries; i++)
		if (strcmp(plugin->entries[i]->name, name) == 0)
			return plugin->entries[i];
	return NULL;
}

static int entries_differ(const struct kp_code *code, const struct kp_code_wanted *wanted,
	struct kp_diag *diag)
{
	char table[LIST_SHOWN] = "", have[LIST_SHOWN] = "";
	size_t a = 0, b = 0;

	for (size_t i = 0; i < wanted->kernels.count; i++)
		a = kp_text_add(table, sizeof(table), a, "%s%s", i ? ", " : "",
			wanted->kernels.items[i]);
	for (uint32_t i = 0; i < code->plugin->n_entries; i++)
		b = kp_text_add(have, sizeof(have), b, "%s%s", i ? ", " : "",
			code->plugin->entries[i]->name);
	return kp_diag_set(diag, "entries_differ", wanted->plugin,
		"the table and %s have different kernels: the table has %s; the code has "
		"%s",
		wanted->stored, *table ? table : "none", *have ? have : "none");
}

/* As many on both sides, and each of the table in the code: names are unique there. */
static int match(
	struct kp_code *code, const struct kp_code_wanted *wanted, struct kp_diag *diag)
{
	size_t count = wanted->kernels.count;

	if (code->plugin->n_entries != count)
		return entries_differ(code, wanted, diag);
	code->kernels = calloc(count + 1, sizeof(*code->kernels));
	if (!code->kernels)
		return kp_diag_no_memory(diag);
	for (size_t i = 0; i < count; i++) {
		const struct kp_entry *entry =
			find_entry(code->plugin, wanted->kernels.items[i]);
		struct kp_code_kernel *kernel = &code->kernels[i];
		if (!entry)
			return entries_differ(code, wanted, diag);
		kernel->code = code;
		kernel->name = entry->name;
		kp_abi_kernel(entry, &kernel->functions);
		if (kp_serial_init(&kernel->serial) < 0)
			return kp_diag_no_memory(diag);
		code->count++;
	}
	return 0;
}

/* ---- starting ---------------------------------------------------------------------- */

static int said(const char *function, const char *code, struct kp_error *error, int raw,
	struct kp_diag *diag)
{
	char status[64];

	(void)kp_error_settle(error, raw);
	return kp_diag_set(diag, code, function, "%s returned %s%s%s", function,
		kp_status_text(raw, status, sizeof(status)), error->text[0] ? ": " : "",
		error->text);
}

static int start(
	struct kp_code *code, const struct kp_code_wanted *wanted, struct kp_diag *diag)
{
	struct kp_plugin plugin;
	struct kp_error error;
	void *state = NULL;

	kp_abi_plugin(code->plugin, &plugin);
	if (!plugin.start)
		return 0;
	code->config = strdup(wanted->config && *wanted->config ? wanted->config : "{}");
	if (!code->config)
		return kp_diag_no_memory(diag);
	kp_error_reset(&error);
	int status = plugin.start(&kp_services_process, code->config, &state, &error);
	if (status != KP_OK)
		return said("start", "start_failed", &error, status, diag);
	code->state = state;
	return 0;
}

static int set_up(
	struct kp_code *code, const struct kp_code_wanted *wanted, struct kp_diag *diag)
{
	/* Constructors and start may leave another rounding behind. */
	struct kp_floats floats = kp_floats_now();
	int result = map(code, wanted, diag);

	if (result == 0)
		result = match(code, wanted, diag);
	if (result == 0)
		result = start(code, wanted, diag);
	kp_floats_restore(&floats);
	return result;
}

static struct kp_code *find(const char *stored)
{
	struct kp_code *code = all;

	while (code && strcmp(code->stored, stored) != 0)
		code = code->next;
	return code;
}

/* Nothing of it has begun; the library stays mapped. */
static void forget(struct kp_code *code)
{
	for (size_t i = 0; i < code->count; i++)
		(void)pthread_mutex_destroy(&code->kernels[i].serial);
	free(code->kernels);
	free(code->config);
	free(code->stored);
	free(code);
}

/* NULL: memory is exhausted, which is no fault of the code's. */
static struct kp_code *make(const struct kp_code_wanted *wanted)
{
	struct kp_code *code = calloc(1, sizeof(*code));

	if (!code || !(code->stored = strdup(wanted->stored))) {
		free(code);
		return NULL;
	}
	(void)set_up(code, wanted, &code->failure);
	if (code->failure.code && strcmp(code->failure.code, "no_memory") == 0) {
		forget(code);
		return NULL;
	}
	code->next = all;
	all = code;
	return code;
}

/* What failed once is not tried again. */
static struct kp_code *open_code(
	const struct kp_code_wanted *wanted, struct kp_diag *diag)
{
	struct kp_code *code = find(wanted->stored);

	if (!code)
		code = make(wanted);
	if (!code) {
		kp_diag_no_memory(diag);
		return NULL;
	}
	if (!code->failure.code)
		return code;
	if (diag)
		*diag = code->failure;
	return NULL;
}

/* ---- devices ----------------------------------------------------------------------- */

static bool is_same_device(const struct kp_device *a, const struct kp_device *b)
{
	return a->type == b->type && a->id == b->id && a->context == b->context &&
	       memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0;
}

static struct kp_loaded *load(struct kp_code_kernel *kernel,
	const struct kp_device *device, struct kp_diag *diag)
{
	struct kp_loaded *loaded = calloc(1, sizeof(*loaded));
	struct kp_floats floats = kp_floats_now();
	struct kp_error error;
	int status = KP_OK;

	if (!loaded) {
		kp_diag_no_memory(diag);
		return NULL;
	}
	loaded->functions = kernel->functions;
	loaded->state = kernel->code ? kernel->code->state : NULL;
	loaded->serial = &kernel->serial;
	loaded->kernel = kernel;
	loaded->device = *device;
	kp_error_reset(&error);
	if (kernel->functions.load)
		status = kernel->functions.load(
			loaded->state, &loaded->device, &loaded->device_state, &error);
	kp_floats_restore(&floats);
	if (status == KP_OK)
		return loaded;
	(void)said("load", "kernel_load_failed", &error, status, diag);
	free(loaded);
	return NULL;
}

static struct kp_loaded *get_loaded(struct kp_code_kernel *kernel,
	const struct kp_device *device, struct kp_diag *diag)
{
	struct kp_loaded *loaded = kernel->loaded;

	while (loaded && !is_same_device(&loaded->device, device))
		loaded = loaded->next;
	if (!loaded) {
		loaded = load(kernel, device, diag);
		if (!loaded)
			return NULL;
		loaded->next = kernel->loaded;
		kernel->loaded = loaded;
	}
	loaded->references++;
	return loaded;
}

int kp_code_load(const struct kp_code_wanted *wanted, const char *kernel,
	const struct kp_device *device, const struct kp_loaded **loaded,
	struct kp_diag *diag)
{
	struct kp_loaded *got = NULL;

	(void)pthread_once(&once, init);
	(void)pthread_mutex_lock(&lock);
	struct kp_code *code = open_code(wanted, diag);
	/* The last has no name. */
	for (struct kp_code_kernel *at = code ? code->kernels : NULL; at && at->name;
		at++)
		if (strcmp(at->name, kernel) == 0)
			got = get_loaded(at, device, diag);
	(void)pthread_mutex_unlock(&lock);
	if (!got)
		return -1;
	*loaded = got;
	return 0;
}

struct kp_code_kernel *kp_code_adopt(
	const char *name, const struct kp_kernel *vtable, struct kp_diag *diag)
{
	const struct kp_entry entry = {
		KP_SIZED(struct kp_entry), KP_ENTRY_KERNEL, 0, name, vtable};
	const struct kp_entry *const entries[] = {&entry};
	const struct kp_plugin plugin = {
		KP_SIZED(struct kp_plugin),
		.abi_major = KP_ABI_MAJOR,
		.abi_minor = KP_ABI_MINOR,
		.n_entries = 1,
		.entries = entries,
	};
	struct kp_code_kernel *kernel;

	if (kp_abi_check(&plugin, diag) < 0)
		return NULL;
	kernel = calloc(1, sizeof(*kernel));
	if (!kernel) {
		kp_diag_no_memory(diag);
		return NULL;
	}
	kp_abi_kernel(&entry, &kernel->functions);
	if (kp_serial_init(&kernel->serial) == 0)
		return kernel;
	free(kernel);
	kp_diag_no_memory(diag);
	return NULL;
}

int kp_code_load_adopted(struct kp_code_kernel *kernel, const struct kp_device *device,
	const struct kp_loaded **loaded, struct kp_diag *diag)
{
	(void)pthread_mutex_lock(&lock);
	*loaded = get_loaded(kernel, device, diag);
	(void)pthread_mutex_unlock(&lock);
	return *loaded ? 0 : -1;
}

void kp_code_disown(struct kp_code_kernel *kernel)
{
	if (kernel)
		(void)pthread_mutex_destroy(&kernel->serial);
	free(kernel);
}

void kp_code_drop(const struct kp_loaded *borrowed, int lost)
{
	struct kp_loaded *loaded = (struct kp_loaded *)(uintptr_t)borrowed;

	if (!loaded)
		return;
	(void)pthread_mutex_lock(&lock);
	if (--loaded->references == 0) {
		struct kp_loaded **link = &loaded->kernel->loaded;
		while (*link != loaded)
			link = &(*link)->next;
		*link = loaded->next;
		if (loaded->functions.unload && !lost)
			loaded->functions.unload(loaded->state, loaded->device_state);
		free(loaded);
	}
	(void)pthread_mutex_unlock(&lock);
}
