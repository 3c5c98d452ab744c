/* SPDX-License-Identifier: MIT */
/* Gathers facts from segments and the dynamic section. */
#include "daemon/worker/elf_facts.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/json.h"

enum { VERSIONS_MOST = 4096 };

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

static void keep_highest(json_t *versions, const char *library, const char *version)
{
	const char *known = json_string_value(json_object_get(versions, library));
	if (!known || strverscmp(known, version) < 0)
		json_object_set_new(versions, library, kp_json_clean_string(version));
}

/* The versions that are needed of one library; records are chained by offsets. */
static void read_versions_of(const struct elf_image *image, uint64_t at, unsigned count,
	const char *library, json_t *versions)
{
	for (unsigned i = 0; i < count && i < VERSIONS_MOST; i++) {
		const GElf_Vernaux *item =
			elf_image_read(image, at, sizeof(*item), ELF_T_BYTE);
		const char *name = item ? elf_image_string(image, item->vna_name) : NULL;
		/* GLIBC_PRIVATE, GLIBC_ABI_DT_RELR and the like have no order. */
		if (name && strpbrk(name, "0123456789"))
			keep_highest(versions, library, name);
		if (!item || item->vna_next == 0)
			break;
		at += item->vna_next;
	}
}

/* Of this machine's byte order, which has been checked; same layout in all classes. */
static json_t *versions_of(const struct elf_image *image)
{
	json_t *versions = json_object();
	uint64_t at =
		elf_image_offset(image, elf_image_dynamic(image, DT_VERNEED, UINT64_MAX));
	uint64_t count = elf_image_dynamic(image, DT_VERNEEDNUM, 0);
	for (uint64_t i = 0; i < count && i < VERSIONS_MOST; i++) {
		const GElf_Verneed *need =
			elf_image_read(image, at, sizeof(*need), ELF_T_BYTE);
		const char *library =
			need ? elf_image_string(image, need->vn_file) : NULL;
		if (library)
			read_versions_of(image, at + need->vn_aux, need->vn_cnt, library,
				versions);
		if (!need || need->vn_next == 0)
			break;
		at += need->vn_next;
	}
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
	return json_pack(
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
}

static void warn(json_t *list, const char *code, const char *message)
{
	json_array_append_new(
		list, json_pack("{s:s, s:s}", "code", code, "message", message));
}

json_t *elf_warnings(const struct elf_image *image)
{
	char text[128];
	json_t *list = json_array();
	const char *stack = stack_of(image);
	if (strcmp(stack, "executable") == 0)
		warn(list, "executable_stack",
			"it asks for an executable stack, which newer C libraries "
			"refuse");
	if (strcmp(stack, "unmarked") == 0)
		warn(list, "unmarked_stack",
			"it does not say what stack it needs, which newer C libraries "
			"refuse");
	if (has_textrel(image))
		warn(list, "text_relocations",
			"its code is changed when it is loaded: build it with -fPIC");
	if (has_flag(image, DT_FLAGS, DF_STATIC_TLS) && tls_bytes(image) > 0) {
		snprintf(text, sizeof(text),
			"it needs %lld bytes of static thread-local storage, of which "
			"there is little",
			(long long)tls_bytes(image));
		warn(list, "static_tls", text);
	}
	return list;
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

int elf_facts_check(const json_t *facts, const char *file, struct kp_diag *diag)
{
	size_t i;
	json_t *name;
	if (check_count(facts, "runpath", "too_many_search_paths", "search paths", diag) <
			0 ||
		check_count(facts, "rpath", "too_many_search_paths", "search paths",
			diag) < 0 ||
		check_count(
			facts, "needed", "too_many_needed", "needed libraries", diag) < 0)
		return -1;
	json_array_foreach (json_object_get(facts, "needed"), i, name)
		if (check_needed(json_string_value(name), file, diag) < 0)
			return -1;
	return 0;
}
