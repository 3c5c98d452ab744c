/* SPDX-License-Identifier: MIT */
/*
 * The structs of a plugin, read only as far as their sizes reach: a plugin may
 * end a struct at the end of a page, and may have been built with any header.
 */
#include "lib/plugin/abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/plugin/spec.h"

enum { OBJECT_BYTES = 64, NAME_MOST = 64 };

/* Where a struct's required prefix ends: behind its last required member. */
#define END_OF(type, member)                                                             \
	(offsetof(struct type, member) + sizeof(((struct type *)0)->member))

/* The first words of every struct. */
struct head {
	uint32_t size, flags;
};

static int check_size(const char *object, const char *type, uint32_t size, size_t least,
	size_t ours, struct kp_diag *diag)
{
	if (size >= least && size <= KP_STRUCT_MOST)
		return 0;
	return kp_diag_set(diag, "bad_struct_size", object,
		"%s.size: the plugin says %u bytes, struct %s of this kplug has %zu and "
		"needs %zu to %d; build the plugin with kplug/plugin.h of ABI %u.%u and "
		"set size with KP_SIZED",
		object, size, type, ours, least, KP_STRUCT_MOST, KP_ABI_MAJOR,
		KP_ABI_MINOR);
}

/* No flag that must be understood exists yet; the high half are hints. */
static int check_flags(const char *object, uint32_t flags, struct kp_diag *diag)
{
	uint32_t must = flags & KP_FLAGS_MUST;
	if (must == 0)
		return 0;
	return kp_diag_set(diag, "unknown_flag", object,
		"%s.flags: the plugin sets bit %d (0x%x of 0x%x), this kplug knows none "
		"of the low %d bits; use a newer kplug, or build the plugin without "
		"that flag",
		object, ffs((int)must) - 1, must & -must, flags, 16);
}

static int check_head(const char *object, const char *type, const void *of, size_t least,
	size_t ours, struct kp_diag *diag)
{
	struct head head;
	memcpy(&head, of, sizeof(head));
	if (check_size(object, type, head.size, least, ours, diag) < 0)
		return -1;
	return check_flags(object, head.flags, diag);
}

static int missing(const char *object, struct kp_diag *diag)
{
	return kp_diag_set(diag, "missing_pointer", object,
		"%s: the plugin has NULL, this kplug needs it to be set", object);
}

static int check_versions(const struct kp_plugin *plugin, unsigned major, unsigned minor,
	struct kp_diag *diag)
{
	if (plugin->abi_major != major)
		return kp_diag_set(diag, "abi_major", "kplug_plugin.abi_major",
			"kplug_plugin.abi_major: the plugin was built for %u, this kplug "
			"has %u; %s",
			plugin->abi_major, major,
			plugin->abi_major > major ? "use a newer kplug"
						  : "build the plugin with this kplug's "
						    "kplug/plugin.h");
	if (plugin->abi_needed > minor)
		return kp_diag_set(diag, "abi_minor", "kplug_plugin.abi_needed",
			"kplug_plugin.abi_needed: the plugin needs %u.%u, this kplug "
			"has %u.%u; use a newer kplug, or build the plugin to need less",
			plugin->abi_major, plugin->abi_needed, major, minor);
	return 0;
}

static int check_kernel(
	const char *entry, const struct kp_kernel *kernel, struct kp_diag *diag)
{
	char object[OBJECT_BYTES * 2];
	(void)snprintf(object, sizeof(object), "%s.vtable", entry);
	if (!kernel)
		return missing(object, diag);
	if (check_head(object, "kp_kernel", kernel, END_OF(kp_kernel, run),
		    sizeof(*kernel), diag) < 0)
		return -1;
	(void)snprintf(object, sizeof(object), "%s.vtable.run", entry);
	return kernel->run ? 0 : missing(object, diag);
}

static int check_name(const char *entry, const char *name, struct kp_diag *diag)
{
	char object[OBJECT_BYTES * 2];
	char shown[NAME_MOST * 4 + 8];
	(void)snprintf(object, sizeof(object), "%s.name", entry);
	if (!name)
		return missing(object, diag);
	size_t length = strnlen(name, NAME_MOST + 1);
	if (length <= NAME_MOST && kp_text_is_name(name))
		return 0;
	kp_text_clean_bytes(name, length, shown, sizeof(shown));
	return kp_diag_set(diag, "bad_entry_name", object, "%s: \"%s\" is no name: %s",
		object, shown, kp_text_name_rule);
}

static int check_entry(const struct kp_entry *entry, size_t i, struct kp_diag *diag)
{
	char object[OBJECT_BYTES];
	(void)snprintf(object, sizeof(object), "entries[%zu]", i);
	if (!entry)
		return kp_diag_set(diag, "null_entry", object,
			"%s is NULL: the array of kplug_plugin has a hole", object);
	if (check_head(object, "kp_entry", entry, END_OF(kp_entry, vtable),
		    sizeof(*entry), diag) < 0)
		return -1;
	if (entry->kind != KP_ENTRY_KERNEL)
		return kp_diag_set(diag, "unknown_entry_kind", object,
			"%s.kind: the plugin has %u, this kplug knows %d (kernel); use "
			"a newer kplug, or leave the entry out",
			object, entry->kind, KP_ENTRY_KERNEL);
	if (check_name(object, entry->name, diag) < 0)
		return -1;
	return check_kernel(object, entry->vtable, diag);
}

static int check_twins(const struct kp_plugin *plugin, struct kp_diag *diag)
{
	size_t count = plugin->n_entries;
	int rc = 0;

	if (count < 2)
		return 0;
	const char **names = calloc(count, sizeof(*names));
	if (!names)
		return kp_diag_no_memory(diag);
	for (size_t i = 0; i < count; i++)
		names[i] = plugin->entries[i]->name;
	qsort(names, count, sizeof(*names), kp_text_compare);
	for (size_t i = 1; rc == 0 && i < count; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			rc = kp_diag_set(diag, "bad_entry_name", "kplug_plugin.entries",
				"entries: two of them are named %s", names[i]);
	free(names);
	return rc;
}

int kp_abi_check_for(const struct kp_plugin *plugin, unsigned major, unsigned minor,
	struct kp_diag *diag)
{
	static const char object[] = "kplug_plugin";

	if (!plugin)
		return missing(object, diag);
	/* The versions come first: with another major nothing else can be trusted. */
	struct head head;
	memcpy(&head, plugin, sizeof(head));
	if (check_size(object, "kp_plugin", head.size, END_OF(kp_plugin, entries),
		    sizeof(*plugin), diag) < 0 ||
		check_versions(plugin, major, minor, diag) < 0 ||
		check_flags(object, head.flags, diag) < 0)
		return -1;
	if (plugin->n_entries > KP_PLUGIN_KERNELS)
		return kp_diag_set(diag, "too_many", "kplug_plugin.n_entries",
			"n_entries: the plugin has %u, this kplug takes at most %d",
			plugin->n_entries, KP_PLUGIN_KERNELS);
	if (plugin->n_entries > 0 && !plugin->entries)
		return missing("kplug_plugin.entries", diag);
	for (size_t i = 0; i < plugin->n_entries; i++)
		if (check_entry(plugin->entries[i], i, diag) < 0)
			return -1;
	return check_twins(plugin, diag);
}

int kp_abi_check(const struct kp_plugin *plugin, struct kp_diag *diag)
{
	return kp_abi_check_for(plugin, KP_ABI_MAJOR, KP_ABI_MINOR, diag);
}

/* The bytes of whole members that `size` covers; members behind the head are words. */
static size_t covered(uint32_t size, size_t ours)
{
	size_t whole = size / sizeof(void *) * sizeof(void *);
	return whole < ours ? whole : ours;
}

void kp_abi_kernel(const struct kp_entry *entry, struct kp_kernel *kernel)
{
	struct head head;
	memcpy(&head, entry->vtable, sizeof(head));
	*kernel = (struct kp_kernel){0};
	memcpy(kernel, entry->vtable, covered(head.size, sizeof(*kernel)));
	kernel->size = (uint32_t)sizeof(*kernel);
}

void kp_abi_plugin(const struct kp_plugin *plugin, struct kp_plugin *today)
{
	struct head head;
	memcpy(&head, plugin, sizeof(head));
	*today = (struct kp_plugin){0};
	memcpy(today, plugin, covered(head.size, sizeof(*today)));
	today->size = (uint32_t)sizeof(*today);
}
