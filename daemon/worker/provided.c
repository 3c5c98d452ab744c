/* SPDX-License-Identifier: MIT */
/* Holds what a library uses against what others define. */
#include "daemon/worker/provided.h"

#include <dlfcn.h>
#include <link.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/elf_table.h"
#include "daemon/worker/elf_versions.h"
#include "lib/base/owned.h"
#include "lib/base/text.h"

enum { NAMES_SHOWN = 8, VERSION_HIDDEN = 0x8000, SAFE = 200 };

/* Names that a library uses, until somebody has been found for each. */
struct wanted {
	size_t count, room;
	struct want {
		const char *name;
		uint16_t version; /* index; 0 and 1: none */
		bool found;
	} * items;
	struct hsearch_data table;
};

struct check {
	const struct elf_image *image;
	const struct closure *closure;
	struct kp_diags *faults, *warnings;
	struct wanted wanted;
};

/* ---- versions -------------------------------------------------------------------- */

static const char *clean(const char *text, char safe[SAFE])
{
	kp_text_clean(text, safe, SAFE);
	return safe;
}

static void check_version(void *context, const struct elf_version *version)
{
	struct check *check = context;
	const struct closure_part *part = closure_find(check->closure, version->library);
	char name[SAFE], library[SAFE];
	struct kp_diag diag;

	/* The loader takes a library without any versions as it is. */
	if (version->weak || !part || !elf_versions_any(&part->image) ||
		elf_versions_has(&part->image, version->name))
		return;
	const char *highest = elf_versions_highest(&part->image, version->name);
	kp_diag_set(&diag, "symbol_version_missing", clean(version->name, name),
		"it needs %s of %s, and %s has %s%s", name,
		clean(version->library, library), part->path,
		highest ? "no more than " : "none of that kind", highest ? highest : "");
	kp_diags_add(check->faults, &diag);
}

/* ---- symbols --------------------------------------------------------------------- */

static int want(struct wanted *wanted, const char *name, uint16_t version)
{
	if (wanted->count == wanted->room) {
		size_t room = wanted->room ? wanted->room * 2 : 256;
		void *items = reallocarray(wanted->items, room, sizeof(*wanted->items));
		if (!items)
			return -1;
		wanted->items = items;
		wanted->room = room;
	}
	wanted->items[wanted->count++] = (struct want){name, version, false};
	return 0;
}

static int collect(struct check *check)
{
	struct elf_table table;
	struct kp_diag diag;
	GElf_Sym symbol;
	const char *name;

	/* What is cut has been told by who looked at its exports. */
	if (elf_table_open(check->image, &table, &diag) < 0)
		return 0;
	for (uint64_t i = 1; i < table.count; i++) {
		uint16_t version = table.versions ? table.versions[i] : 0;
		if (elf_table_symbol(&table, i, &symbol, &name) &&
			elf_symbol_is_wanted(&symbol) && *name &&
			want(&check->wanted, name, version & (uint16_t)~VERSION_HIDDEN) <
				0)
			return -1;
	}
	return 0;
}

/*
 * Most of it is the C library's, which this process has mapped from that very file: there
 * the loader is asked, and no table is read. Nothing is loaded by this.
 */
static void ask_loader(struct check *check, const char *name)
{
	const struct closure_part *part = closure_find(check->closure, name);
	struct link_map *map =
		part ? dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD) : NULL;

	if (!map)
		return;
	if (strcmp(map->l_name, part->path) == 0)
		for (size_t i = 0; i < check->wanted.count; i++) {
			struct want *want = &check->wanted.items[i];
			want->found = want->found || dlsym(map, want->name);
		}
	(void)dlclose(map);
}

static bool all_found(const struct wanted *wanted)
{
	for (size_t i = 0; i < wanted->count; i++)
		if (!wanted->items[i].found)
			return false;
	return true;
}

/* By name alone: versions have been looked at as a whole. */
static int index_wanted(struct wanted *wanted)
{
	if (!hcreate_r(wanted->count * 2 + 1, &wanted->table))
		return -1;
	for (size_t i = 0; i < wanted->count; i++) {
		ENTRY entry = {
			(char *)(uintptr_t)wanted->items[i].name, &wanted->items[i]};
		ENTRY *found;
		if (!hsearch_r(entry, ENTER, &found, &wanted->table))
			return -1;
		/* The same name in another version: one of them stands for both. */
		if (found->data != &wanted->items[i])
			wanted->items[i].found = true;
	}
	return 0;
}

static void offer(struct wanted *wanted, const struct elf_image *image)
{
	struct elf_table table;
	struct kp_diag diag;
	GElf_Sym symbol;
	const char *name;
	ENTRY *found;

	if (elf_table_open(image, &table, &diag) < 0)
		return;
	for (uint64_t i = 1; i < table.count; i++) {
		if (!elf_table_symbol(&table, i, &symbol, &name) ||
			!elf_symbol_is_exported(&symbol))
			continue;
		ENTRY entry = {(char *)(uintptr_t)name, NULL};
		if (hsearch_r(entry, FIND, &found, &wanted->table))
			((struct want *)found->data)->found = true;
	}
}

/* ---- what nobody has ------------------------------------------------------------- */

struct expected {
	uint16_t index;
	const char *library;
};

static void take_expected(void *context, const struct elf_version *version)
{
	struct expected *expected = context;
	if (version->index == expected->index)
		expected->library = version->library;
}

/* "libx.so.1 (/usr/lib/libx.so.1)" of those that are needed, and the C library. */
static void list_needed(const struct check *check, char *text, size_t size)
{
	size_t used = 0;
	*text = '\0';
	for (size_t i = 0; i < check->closure->count; i++) {
		const struct closure_part *part = check->closure->parts[i];
		if (!part->by)
			used = kp_text_add(text, size, used, "%s%s (%s)",
				used ? ", " : "", part->name, part->path);
	}
}

static void tell_undefined(struct check *check, const struct want *want)
{
	struct expected expected = {.index = want->version};
	char name[SAFE], others[400];
	struct kp_diag diag;

	if (want->version > 1)
		elf_versions_needed(check->image, take_expected, &expected);
	const struct closure_part *part =
		expected.library ? closure_find(check->closure, expected.library) : NULL;
	list_needed(check, others, sizeof(others));
	if (part)
		kp_diag_set(&diag, "undefined_symbol", clean(want->name, name),
			"it uses %s of %s, and %s does not have it", name, part->name,
			part->path);
	else
		kp_diag_set(&diag, "undefined_symbol", clean(want->name, name),
			"it uses %s, and nobody has it whom it would ask: %s", name,
			others);
	kp_diags_add(check->faults, &diag);
}

/* Parts of the C library, which most applications have. */
static bool is_of_libc(const char *library)
{
	static const char *const names[] = {
		"libm.so.", "libpthread.so.", "libdl.so.", "librt.so."};

	for (size_t i = 0; i < KP_COUNT(names); i++)
		if (strncmp(library, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static void tell_undeclared(struct check *check, const char *symbol, const char *library)
{
	char name[SAFE];
	struct kp_diag diag;

	kp_diag_set(&diag, "undeclared_library", library,
		"it uses %s of %s, but does not need that library: an application "
		"without it cannot load it",
		clean(symbol, name), library);
	for (size_t i = 0; i < check->warnings->count; i++)
		if (strcmp(check->warnings->items[i].code, diag.code) == 0 &&
			strcmp(check->warnings->items[i].object, library) == 0)
			return;
	kp_diags_add(check->warnings, &diag);
}

/* What a compiler's sanitizers put there is in every program that was built with them. */
static bool is_by_chance(const char *library)
{
	return strstr(library, ".so") && !strstr(library, "san.so");
}

/*
 * This process's own symbols are what a sanitizer lends; that it has other libraries is
 * chance, and no reason for an application to have them.
 */
static void judge(struct check *check, const struct want *want)
{
	Dl_info info;
	void *address = dlsym(RTLD_DEFAULT, want->name);
	bool known = address && dladdr(address, &info) && info.dli_fname;
	char self[] = "plugin-worker";

	const char *slash = known ? strrchr(info.dli_fname, '/') : NULL;
	const char *library = slash ? slash + 1 : known ? info.dli_fname : self;

	if (address && is_of_libc(library))
		tell_undeclared(check, want->name, library);
	else if ((!address || is_by_chance(library)) && !check->closure->is_cut)
		tell_undefined(check, want);
}

static void tell_missing(struct check *check)
{
	size_t told = check->faults->count;

	for (size_t i = 0; i < check->wanted.count; i++)
		if (!check->wanted.items[i].found &&
			check->faults->count - told < NAMES_SHOWN)
			judge(check, &check->wanted.items[i]);
}

static int ask_tables(struct check *check)
{
	if (index_wanted(&check->wanted) < 0)
		return -1;
	for (size_t i = 0; i < check->closure->count; i++)
		offer(&check->wanted, &check->closure->parts[i]->image);
	/* A library may define what it uses, in a table that was not found. */
	offer(&check->wanted, check->image);
	tell_missing(check);
	return 0;
}

int provided_check(const struct elf_image *image, const struct closure *closure,
	struct kp_diags *faults, struct kp_diags *warnings)
{
	struct check check = {image, closure, faults, warnings, {0}};
	int result = collect(&check);

	elf_versions_needed(image, check_version, &check);
	ask_loader(&check, "libc.so.6");
	ask_loader(&check, "libm.so.6");
	if (result == 0 && !all_found(&check.wanted))
		result = ask_tables(&check);
	hdestroy_r(&check.wanted.table);
	free(check.wanted.items);
	return result;
}
