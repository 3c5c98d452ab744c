/* SPDX-License-Identifier: MIT */
/* `pluginctl new`: a plugin to begin with, made of what the reference plugin has. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/session.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/place.h"
#include "lib/base/text.h"

enum {
	TEMPLATE_BYTES = 1 << 20,
	TEXT_BYTES = 4096, /* of a value that is put in */
	KERNELS_MOST = 64,
	PRIORITY = 4, /* portable */
};

static const char default_operation[] = "elementwise/square";

/* What is made, and of what. */
struct scaffold {
	const char *name;      /* of the plugin */
	const char *directory; /* to be made */
	const json_t *kernel;  /* of the reference's note; borrowed */
	json_t *note;	       /* of the reference */
	json_t *files;	       /* names that were written */
	int from, to;	       /* directories */
	char include[TEXT_BYTES], manifests[TEXT_BYTES], pluginctl[TEXT_BYTES];
};

static void scaffold_finish(struct scaffold *scaffold)
{
	json_decref(scaffold->note);
	json_decref(scaffold->files);
	kp_file_close(&scaffold->from);
	kp_file_close(&scaffold->to);
}

#define owned_scaffold __attribute__((cleanup(scaffold_finish))) struct scaffold

/* ---- what there is ---------------------------------------------------------------- */

static bool take_place(const char *part, char *text)
{
	owned_text path = kp_place_find(part);
	return path && (size_t)snprintf(text, TEXT_BYTES, "%s", path) < TEXT_BYTES;
}

static int open_templates(struct session *session, struct scaffold *scaffold)
{
	char path[TEXT_BYTES];
	owned_text text = NULL;
	size_t size = 0;
	struct kp_diag diag;
	if (!take_place("templates", path) || !take_place("include", scaffold->include) ||
		!take_place("plugins/plugins.d", scaffold->manifests) ||
		!take_place("pluginctl", scaffold->pluginctl))
		return output_no_memory(&session->output);
	scaffold->from = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (scaffold->from < 0)
		return output_refuse(&session->output, "missing_file", path,
			"the templates are not there: cannot open %s: %s", path,
			strerror(errno));
	if (kp_file_read(scaffold->from, "plugin.json", TEMPLATE_BYTES, &text, &size,
		    &diag) < 0 ||
		kp_json_parse(text, size, "plugin.json", &scaffold->note, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	return KP_EXIT_OK;
}

static int find_kernel(
	struct session *session, struct scaffold *scaffold, const char *operation)
{
	const char *names[KERNELS_MOST];
	size_t count = 0;
	size_t i;
	json_t *kernel;
	json_array_foreach (json_object_get(scaffold->note, "kernels"), i, kernel) {
		if (field_is(kernel, "operation", operation))
			scaffold->kernel = kernel;
		if (count < KERNELS_MOST)
			names[count++] = field_text(kernel, "operation", "?");
	}
	if (scaffold->kernel)
		return KP_EXIT_OK;
	const char *nearest = kp_text_nearest(operation, names, count);
	return output_refuse(&session->output, "unknown_operation", operation,
		"there is no template for %s; those of the reference plugin are "
		"templates: `pluginctl info reference`%s%s%s",
		operation, nearest ? "; did you mean " : "", nearest ? nearest : "",
		nearest ? "?" : "");
}

/* ---- writing ------------------------------------------------------------------------
 */

static int put_file(struct session *session, struct scaffold *scaffold, const char *file,
	const char *text, size_t size)
{
	struct kp_diag diag;
	if (kp_file_replace(scaffold->to, file, text, size, 0644, false, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	return json_array_append_new(scaffold->files, json_string(file)) < 0
		       ? output_no_memory(&session->output)
		       : KP_EXIT_OK;
}

/* "@NAME@ ..." into the stream. */
static void fill(FILE *out, const struct scaffold *scaffold, const char *text)
{
	const struct {
		const char *mark, *value;
	} marks[] = {
		{"@NAME@", scaffold->name},
		{"@KERNEL@", field_text(scaffold->kernel, "name", "?")},
		{"@OPERATION@", field_text(scaffold->kernel, "operation", "?")},
		{"@INCLUDE@", scaffold->include},
		{"@MANIFESTS@", scaffold->manifests},
		{"@PLUGINCTL@", scaffold->pluginctl},
	};
	while (*text) {
		size_t i = 0;
		while (i < KP_COUNT(marks) &&
			strncmp(text, marks[i].mark, strlen(marks[i].mark)) != 0)
			i++;
		if (i == KP_COUNT(marks)) {
			(void)fputc(*text++, out);
			continue;
		}
		(void)fputs(marks[i].value, out);
		text += strlen(marks[i].mark);
	}
}

static int fill_file(struct session *session, struct scaffold *scaffold, const char *file,
	const char *text)
{
	owned_text made = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&made, &size);
	if (!out)
		return output_no_memory(&session->output);
	fill(out, scaffold, text);
	if (fclose(out) != 0)
		return output_no_memory(&session->output);
	return put_file(session, scaffold, file, made, size);
}

/* "Makefile.in" is filled in and becomes "Makefile"; others are copied as they are. */
static int copy_file(struct session *session, struct scaffold *scaffold, const char *file)
{
	char bare[NAME_MAX + 1];
	owned_text text = NULL;
	size_t size = 0;
	struct kp_diag diag;
	if (kp_file_read(scaffold->from, file, TEMPLATE_BYTES, &text, &size, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	size_t length = strlen(file);
	if (length <= 3 || strcmp(file + length - 3, ".in") != 0)
		return put_file(session, scaffold, file, text, size);
	(void)snprintf(bare, sizeof(bare), "%.*s", (int)length - 3, file);
	return fill_file(session, scaffold, bare, text);
}

/* Does this template belong to another kernel than ours? "gemm_mm.c" does. */
static bool is_of_others(const struct scaffold *scaffold, const char *file)
{
	size_t i;
	json_t *kernel;
	json_array_foreach (json_object_get(scaffold->note, "kernels"), i, kernel) {
		const char *name = field_text(kernel, "name", "?");
		if (kernel != scaffold->kernel &&
			strncmp(file, name, strlen(name)) == 0 &&
			file[strlen(name)] == '.')
			return true;
	}
	return false;
}

static int copy_all(struct session *session, struct scaffold *scaffold)
{
	struct dirent **list;
	int status = KP_EXIT_OK;
	int count = scandirat(scaffold->from, ".", &list, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		const char *file = list[i]->d_name;
		if (status == KP_EXIT_OK && file[0] != '.' &&
			strcmp(file, "plugin.json") != 0 && !is_of_others(scaffold, file))
			status = copy_file(session, scaffold, file);
		free(list[i]);
	}
	if (count >= 0)
		free(list);
	return count < 0 ? output_no_memory(&session->output) : status;
}

/* Takes `value`. */
static int put_json(struct session *session, struct scaffold *scaffold, const char *file,
	json_t *value)
{
	owned_json *document = value;
	owned_text text = NULL;
	owned_text whole = NULL;
	text = document ? kp_json_dumps(document, JSON_INDENT(2)) : NULL;
	if (!text || asprintf(&whole, "%s\n", text) < 0)
		return output_no_memory(&session->output);
	return put_file(session, scaffold, file, whole, strlen(whole));
}

static json_t *note_json(const struct scaffold *scaffold)
{
	const json_t *from = scaffold->kernel;
	json_t *kernel = json_pack("{s:O, s:O, s:O*, s:s, s:i, s:O, s:O*, s:O*}", "name",
		json_object_get(from, "name"), "operation",
		json_object_get(from, "operation"), "revision",
		json_object_get(from, "revision"), "solution", scaffold->name, "priority",
		PRIORITY, "signatures", json_object_get(from, "signatures"), "capability",
		json_object_get(from, "capability"), "flags",
		json_object_get(from, "flags"));
	char text[256];
	(void)snprintf(text, sizeof(text), "A kernel for %s.",
		field_text(from, "operation", "?"));
	return json_pack("{s:s, s:s, s:s, s:[o]}", "name", scaffold->name, "version",
		"0.1.0", "description", text, "kernels", kernel);
}

/* It can be asked for again once there is room. */
static void take_back(const struct scaffold *scaffold)
{
	size_t i;
	json_t *file;
	json_array_foreach (scaffold->files, i, file)
		(void)unlinkat(scaffold->to, json_string_value(file), 0);
	(void)rmdir(scaffold->directory);
}

static int write_all(struct session *session, struct scaffold *scaffold)
{
	char file[128];
	char library[128];
	(void)snprintf(file, sizeof(file), "%s.json", scaffold->name);
	(void)snprintf(library, sizeof(library), "%s.so", scaffold->name);
	if (mkdir(scaffold->directory, 0777) < 0)
		return output_refuse(&session->output,
			errno == EEXIST ? "file_exists" : "write_failed",
			scaffold->directory, "cannot make the directory %s: %s",
			scaffold->directory, strerror(errno));
	scaffold->to = open(scaffold->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int status = copy_all(session, scaffold);
	if (status == KP_EXIT_OK)
		status = put_json(session, scaffold, "plugin.json", note_json(scaffold));
	if (status == KP_EXIT_OK)
		status = put_json(
			session, scaffold, file, json_pack("{s:s}", "library", library));
	if (status != KP_EXIT_OK)
		take_back(scaffold);
	return status;
}

static int report(const struct session *session, const struct scaffold *scaffold)
{
	const struct output *output = &session->output;
	if (output->quiet && !output->json)
		return KP_EXIT_OK;
	if (output->json) {
		owned_json *document = json_pack("{s:s, s:s, s:O, s:O, s:O}", "name",
			scaffold->name, "directory", scaffold->directory, "operation",
			json_object_get(scaffold->kernel, "operation"), "kernel",
			json_object_get(scaffold->kernel, "name"), "files",
			scaffold->files);
		return document ? output_json(document) : output_no_memory(output);
	}
	owned_text files = field_join(scaffold->files, ", ");
	output_words(output, 0, "%s: %s", scaffold->directory, files ? files : "");
	output_words(output, 0,
		"`make -C %s check` builds it and holds it against the reference; begin "
		"in %s/%s.c.",
		scaffold->directory, scaffold->directory,
		field_text(scaffold->kernel, "name", "?"));
	return KP_EXIT_OK;
}

static int run(struct session *session)
{
	const char *operation = arguments_value(&session->arguments, "operation");
	const char *directory = arguments_value(&session->arguments, "directory");
	const char *name = session->arguments.words[0];
	owned_scaffold scaffold = {.name = name,
		.directory = directory ? directory : name,
		.files = json_array(),
		.from = -1,
		.to = -1};
	if (!scaffold.files)
		return output_no_memory(&session->output);
	if (!kp_text_is_name(name))
		return output_refuse(&session->output, "bad_name", name,
			"%s is no name for a plugin: %s", name, kp_text_name_rule);
	int status = open_templates(session, &scaffold);
	if (status == KP_EXIT_OK)
		status = find_kernel(
			session, &scaffold, operation ? operation : default_operation);
	if (status == KP_EXIT_OK)
		status = write_all(session, &scaffold);
	return status == KP_EXIT_OK ? report(session, &scaffold) : status;
}

static const struct option options[] = {
	{"operation", "FAMILY/MODE", "what its kernel does (default elementwise/square)",
		false},
	{"directory", "DIR", "make it there, not in ./NAME", false},
	{NULL, NULL, NULL, false},
};

const struct command new_command = {
	.name = "new",
	.args = "NAME",
	.least = 1,
	.most = 1,
	.summary = "Make a plugin to begin with: sources, note, manifest, Makefile",
	.help = "Its one kernel is right and slow: plain C, as the reference has it. "
		"`make check` in the new directory builds it, loads it in a private "
		"plugind and verifies it. No plugind is asked.",
	.options = options,
	.run = run,
};
