/* SPDX-License-Identifier: MIT */
/* Loads a plugin and holds its code to its note. */
#include "daemon/worker/loaded.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/plugin/abi.h"
#include "lib/plugin/loader.h"

enum { LIST_SHOWN = 300 };

static int load_failed(const char *words, struct kp_diag *diag)
{
	char name[128] = "";
	const char *from;
	const char *code = kp_loader_code(words, &from);

	if (strcmp(code, "no_memory") == 0)
		return kp_diag_no_memory(diag);
	/* A symbol ends at a blank or comma, a library's name at the colon. */
	if (from)
		snprintf(
			name, sizeof(name), "%.*s", (int)strcspn(from, " ,:'\t\n"), from);
	return kp_diag_set(diag, code, from ? name : NULL, "cannot be loaded: %s", words);
}

/* dlerror forgets what it has told: asked once. */
static const char *keep_words(struct loaded *loaded)
{
	const char *words = dlerror();
	kp_text_clean(words ? words : "the loader does not say why", loaded->loader,
		sizeof(loaded->loader));
	return loaded->loader;
}

static int open_library(const char *stored, struct loaded *loaded, struct kp_diag *diag)
{
	loaded->handle = dlopen(stored, RTLD_NOW | RTLD_LOCAL);
	if (!loaded->handle)
		return load_failed(keep_words(loaded), diag);
	loaded->plugin = dlsym(loaded->handle, "kplug_plugin");
	if (!loaded->plugin)
		return kp_diag_set(diag, "no_plugin_symbol", "kplug_plugin",
			"does not export kplug_plugin: %s", keep_words(loaded));
	return 0;
}

static const struct kp_entry *find_entry(const struct kp_plugin *plugin, const char *name)
{
	for (uint32_t i = 0; i < plugin->n_entries; i++)
		if (strcmp(plugin->entries[i]->name, name) == 0)
			return plugin->entries[i];
	return NULL;
}

static void add_name(char *list, size_t size, const char *name)
{
	size_t used = strlen(list);
	if (used + 1 < size)
		snprintf(list + used, size - used, "%s%s", used ? ", " : "", name);
}

/* Both as they are, so that a person sees the misspelt one. */
static int entries_differ(const struct loaded *loaded, struct kp_diag *diag)
{
	char note[LIST_SHOWN] = "";
	char code[LIST_SHOWN] = "";
	for (size_t i = 0; i < loaded->note->n_kernels; i++)
		add_name(note, sizeof(note), loaded->note->kernels[i].name);
	for (uint32_t i = 0; i < loaded->plugin->n_entries; i++)
		add_name(code, sizeof(code), loaded->plugin->entries[i]->name);
	return kp_diag_set(diag, "entries_differ", "entries",
		"note and code have different kernels: the note has %s; the code has %s",
		*note ? note : "none", *code ? code : "none");
}

/* As many on both sides, and each of the note in the code: names are unique there. */
static int match(struct loaded *loaded, struct kp_diag *diag)
{
	size_t count = loaded->note->n_kernels;
	if (loaded->plugin->n_entries != count)
		return entries_differ(loaded, diag);
	loaded->kernels = calloc(count + 1, sizeof(*loaded->kernels));
	if (!loaded->kernels)
		return kp_diag_no_memory(diag);
	for (size_t i = 0; i < count; i++) {
		const struct kp_entry *entry =
			find_entry(loaded->plugin, loaded->note->kernels[i].name);
		if (!entry)
			return entries_differ(loaded, diag);
		kp_abi_kernel(entry, &loaded->kernels[i]);
	}
	return 0;
}

int loaded_open(const char *stored, const struct kp_note *note, struct loaded *loaded,
	struct kp_diag *diag)
{
	*loaded = (struct loaded){.note = note};
	if (open_library(stored, loaded, diag) < 0 ||
		kp_abi_check(loaded->plugin, diag) < 0)
		return -1;
	return match(loaded, diag);
}

const struct kp_kernel *loaded_kernel(const struct loaded *loaded, const char *name)
{
	for (size_t i = 0; i < loaded->note->n_kernels; i++)
		if (strcmp(loaded->note->kernels[i].name, name) == 0)
			return &loaded->kernels[i];
	return NULL;
}
