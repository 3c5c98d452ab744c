/* SPDX-License-Identifier: MIT */
/* Gathers facts from segments and the dynamic section. */
#include "daemon/worker/elf_facts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "daemon/worker/elf_versions.h"
#include "lib/base/json.h"
#include "lib/base/text.h"

static bool has_room(size_t count, size_t bytes)
{
	return count <= ELF_NAMES_MOST && bytes <= ELF_NAMES_BYTES;
}

/* All strings of a tag, until there are too many; a list with colons is split. */
static json_t *strings_of(const struct elf_image *image, int64_t tag, bool split)
{
	json_t *list = json_array();
	size_t bytes = 0;
	for (size_t i = 0; i < image->n_dynamic; i++) {
		const char *text =
			image->dynamic[i].d_tag == tag
				? elf_image_string(image, image->dynamic[i].d_un.d_val)
				: NULL;
		while (text && has_room(json_array_size(list), bytes)) {
			char piece[4096];
			const char *colon = split ? strchr(text, ':') : NULL;
			snprintf(piece, sizeof(piece), "%.*s",
				(int)(colon ? (size_t)(colon - text) : strlen(text)),
				text);
			json_t *name = kp_json_clean_string(piece);
			bytes += json_string_length(name);
			json_array_append_new(list, name);
			text = colon ? colon + 1 : NULL;
		}
	}
	return list;
}

static const char *one_string(const struct elf_image *image, int64_t tag)
{
	uint64_t index = elf_image_dynamic(image, tag, UINT64_MAX);
	return index == UINT64_MAX ? NULL : elf_image_string(image, index);
}

/* GLIBC_PRIVATE, GLIBC_ABI_DT_RELR and the like have no order. */
static void keep_highest(void *versions, const struct elf_version *version)
{
	const char *known =
		json_string_value(json_object_get(versions, version->library));
	if (strpbrk(version->name, "0123456789") &&
		(!known || strverscmp(known, version->name) < 0))
		json_object_set_new(
			versions, version->library, kp_json_clean_string(version->name));
}

/* The highest of each library. */
static json_t *versions_of(const struct elf_image *image)
{
	json_t *versions = json_object();
	elf_versions_needed(image, keep_highest, versions);
	return versions;
}

static const char *stack_of(const struct elf_image *image)
{
	const GElf_Phdr *stack = elf_image_segment(image, PT_GNU_STACK);
	if (!stack)
		return "unmarked";
	return stack->p_flags & PF_X ? "executable" : "rw";
}

static bool has_flag(const struct elf_image *image, int64_t tag, uint64_t flag)
{
	return (elf_image_dynamic(image, tag, 0) & flag) != 0;
}

static bool has_textrel(const struct elf_image *image)
{
	return has_flag(image, DT_FLAGS, DF_TEXTREL) ||
	       elf_image_dynamic(image, DT_TEXTREL, UINT64_MAX) != UINT64_MAX;
}

static json_int_t functions_of(const struct elf_image *image, int64_t array, int64_t one)
{
	uint64_t bytes = elf_image_dynamic(image, array, 0);
	json_int_t count = (json_int_t)(bytes / sizeof(void *));
	return count + (elf_image_dynamic(image, one, 0) != 0);
}

static json_int_t tls_bytes(const struct elf_image *image)
{
	const GElf_Phdr *tls = elf_image_segment(image, PT_TLS);
	return tls ? (json_int_t)tls->p_memsz : 0;
}

json_t *elf_facts(const struct elf_image *image)
{
	char machine[32];
	errno = 0;
	json_t *facts = json_pack(
		"{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:b, s:I, s:b, s:I, s:I}",
		"class", image->header.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32,
		"machine",
		elf_machine_name(image->header.e_machine, machine, sizeof(machine)),
		"soname", kp_json_clean_or_null(one_string(image, DT_SONAME)), "needed",
		strings_of(image, DT_NEEDED, false), "runpath",
		strings_of(image, DT_RUNPATH, true), "rpath",
		strings_of(image, DT_RPATH, true), "versions", versions_of(image),
		"stack", stack_of(image), "static_tls",
		has_flag(image, DT_FLAGS, DF_STATIC_TLS), "tls_bytes", tls_bytes(image),
		"textrel", has_textrel(image), "init_functions",
		functions_of(image, DT_INIT_ARRAYSZ, DT_INIT), "fini_functions",
		functions_of(image, DT_FINI_ARRAYSZ, DT_FINI));

	/* What memory was too short for would look as if it were not there. */
	if (errno != ENOMEM)
		return facts;
	json_decref(facts);
	return NULL;
}

static size_t bytes_of(const json_t *list)
{
	size_t i, bytes = 0;
	json_t *item;
	json_array_foreach ((json_t *)list, i, item)
		bytes += json_string_length(item);
	return bytes;
}

/* Each is looked at for each library that is needed. */
static int check_count(const json_t *facts, const char *key, const char *code,
	const char *what, struct kp_diag *diag)
{
	const json_t *list = json_object_get(facts, key);
	if (has_room(json_array_size(list), bytes_of(list)))
		return 0;
	return kp_diag_set(diag, code, key,
		"it has too many %s: %d, and %d KiB of them, are the most", what,
		ELF_NAMES_MOST, ELF_NAMES_BYTES >> 10);
}

/*
 * A name is searched for; a path is loaded as it is, and must be the same for every
 * host: "../x.so" is decided by its directory, "$ORIGIN/../x.so" is no part of the entry.
 */
static int check_needed(const char *name, const char *file, struct kp_diag *diag)
{
	bool is_dots = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
	bool is_path = strchr(name, '/') != NULL;
	if (!is_dots && (!is_path || (name[0] == '/' && !strstr(name, "/../"))))
		return 0;
	return kp_diag_set(diag, "needed_with_path", name,
		"%s needs %s: neither a name to search for nor an absolute path", file,
		name);
}

/* The loader opens them as if they were needed, and takes what it finds there first. */
static int check_filters(
	const struct elf_image *image, const char *file, struct kp_diag *diag)
{
	for (size_t i = 0; i < image->n_dynamic; i++) {
		int64_t tag = image->dynamic[i].d_tag;
		if (tag != DT_AUXILIARY && tag != DT_FILTER)
			continue;
		const char *name = elf_image_string(image, image->dynamic[i].d_un.d_val);
		char clean[256];
		(void)kp_text_clean(name ? name : "?", clean, sizeof(clean));
		return kp_diag_set(diag, "filter_library", clean,
			"%s stands in front of %s (%s), which the loader opens although "
			"it is not among what is needed: nobody would have looked at it",
			file, clean, tag == DT_FILTER ? "DT_FILTER" : "DT_AUXILIARY");
	}
	return 0;
}

int elf_facts_check(const struct elf_image *image, const json_t *facts, const char *file,
	struct kp_diag *diag)
{
	size_t i;
	json_t *name;

	if (check_count(facts, "runpath", "too_many_search_paths", "search paths", diag) <
			0 ||
		check_count(facts, "rpath", "too_many_search_paths", "search paths",
			diag) < 0 ||
		check_count(facts, "needed", "too_many_needed", "needed libraries",
			diag) < 0 ||
		check_filters(image, file, diag) < 0)
		return -1;
	json_array_foreach (json_object_get(facts, "needed"), i, name)
		if (check_needed(json_string_value(name), file, diag) < 0)
			return -1;
	return 0;
}
