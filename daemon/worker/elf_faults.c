/* SPDX-License-Identifier: MIT */
/* Judges facts of a library. */
#include "daemon/worker/elf_faults.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/owned.h"
#include "lib/base/json.h"

static void add_fault(
	struct kp_diags *list, const char *code, const char *object, const char *message)
{
	struct kp_diag diag;
	kp_diag_set(&diag, code, object, "%s", message);
	kp_diags_add(list, &diag);
}

static void check_stack(const json_t *facts, struct kp_diags *faults)
{
	const char *stack = kp_json_text(facts, "stack");
	if (strcmp(stack, "executable") == 0)
		add_fault(faults, "executable_stack", "PT_GNU_STACK",
			"it asks for an executable stack: glibc from 2.41 on refuses it, "
			"an older one makes every stack of the application executable");
	if (strcmp(stack, "unmarked") == 0)
		add_fault(faults, "unmarked_stack", "PT_GNU_STACK",
			"it does not say what stack it needs, which counts as an "
			"executable one: glibc from 2.41 on refuses it");
}

static void check_tls(
	const json_t *facts, struct kp_diags *faults, struct kp_diags *warnings)
{
	long long bytes = json_integer_value(json_object_get(facts, "tls_bytes"));
	char text[256];
	if (!json_is_true(json_object_get(facts, "static_tls")) || bytes == 0)
		return;
	bool much = bytes > ELF_STATIC_TLS_MOST;
	(void)snprintf(text, sizeof(text),
		"it needs %lld bytes of static thread-local storage%s", bytes,
		much ? ": a running process has fewer left for all that it loads"
		     : ", of which there is little");
	add_fault(much ? faults : warnings, "static_tls", "PT_TLS", text);
}

static void check_segments(
	const struct elf_image *image, const json_t *facts, struct kp_diags *warnings)
{
	if (json_is_true(json_object_get(facts, "textrel")))
		add_fault(warnings, "text_relocations", "DT_TEXTREL",
			"its code is changed when it is loaded: build it with -fPIC");
	for (size_t i = 0; i < image->n_segments; i++) {
		const GElf_Phdr *segment = &image->segments[i];
		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W) ||
			!(segment->p_flags & PF_X))
			continue;
		add_fault(warnings, "writable_code", "PT_LOAD",
			"a segment of it is writable and executable");
		return;
	}
}

/* ---- search paths ---------------------------------------------------------------- */

/* Where systems and their packages have libraries. */
static bool is_usual(const char *path)
{
	static const char *const usual[] = {
		"/usr/", "/lib/", "/lib64/", "/lib32/", "/opt/"};
	char whole[64];
	(void)snprintf(whole, sizeof(whole), "%.60s/", path);
	for (size_t i = 0; i < KP_COUNT(usual); i++)
		if (strncmp(whole, usual[i], strlen(usual[i])) == 0)
			return true;
	return false;
}

static bool is_open_to_all(const char *path)
{
	struct stat st;
	return path[0] == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	       (st.st_mode & S_IWOTH) != 0;
}

struct paths {
	size_t foreign;
	const char *first; /* of them */
	struct kp_diags *faults;
};

static void check_path(struct paths *paths, const char *path)
{
	char text[512];
	/* $ORIGIN, and $LIB or $PLATFORM behind a slash */
	bool origin =
		strncmp(path, "$ORIGIN", 7) == 0 || strncmp(path, "${ORIGIN}", 9) == 0;
	if (path[0] != '/' && !origin) {
		(void)snprintf(text, sizeof(text),
			"its search path has \"%.200s\", which is below the directory "
			"that an application runs in: anybody can put a library there",
			path);
		add_fault(paths->faults, "relative_search_path", path, text);
	} else if (is_open_to_all(path)) {
		(void)snprintf(text, sizeof(text),
			"its search path has %.200s, where everybody may put a library",
			path);
		add_fault(paths->faults, "writable_search_path", path, text);
	} else if (!origin && !is_usual(path)) {
		paths->first = paths->foreign++ ? paths->first : path;
	}
}

static void check_paths(
	const json_t *facts, struct kp_diags *faults, struct kp_diags *warnings)
{
	static const char *const keys[] = {"runpath", "rpath"};
	struct paths paths = {.faults = faults};
	char text[512], more[48] = "";
	size_t i;
	json_t *path;
	for (size_t key = 0; key < KP_COUNT(keys); key++)
		json_array_foreach (json_object_get(facts, keys[key]), i, path)
			check_path(&paths, json_string_value(path));
	if (paths.foreign == 0)
		return;
	if (paths.foreign > 1)
		(void)snprintf(more, sizeof(more), ", and %zu more", paths.foreign - 1);
	(void)snprintf(text, sizeof(text),
		"its search path has %.200s%s: a directory of the machine that built it",
		paths.first, more);
	add_fault(warnings, "foreign_search_path", paths.first, text);
}

/* ---- loading --------------------------------------------------------------------- */

static void check_load(const struct elf_load *load, struct kp_diags *warnings)
{
	if (load->sets_float)
		add_fault(warnings, "float_startup_code", "DT_INIT_ARRAY",
			"it makes the thread that loads it flush small numbers to zero, "
			"as -ffast-math does when it links");
}

void elf_faults_find(const struct elf_image *image, const json_t *facts,
	const struct elf_load *load, struct kp_diags *faults, struct kp_diags *warnings)
{
	check_stack(facts, faults);
	check_tls(facts, faults, warnings);
	check_paths(facts, faults, warnings);
	check_segments(image, facts, warnings);
	check_load(load, warnings);
}
