/* SPDX-License-Identifier: MIT */
/* `pluginctl schema`: the formats of files, replies and the protocol, as data. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/session.h"
#include "lib/base/file.h"
#include "lib/base/place.h"
#include "lib/base/text.h"
#include "lib/protocol/interface.h"
#include "lib/protocol/message.h"

enum { SCHEMAS_MOST = 256, SCHEMA_BYTES = 1 << 20, NAME_BYTES = 64 };

static const char suffix[] = ".json";

/* What there is, in byte order. */
struct schemas {
	char *directory;
	size_t count;
	char names[SCHEMAS_MOST][NAME_BYTES];
};

static void schemas_finish(struct schemas *schemas)
{
	free(schemas->directory);
}

#define owned_schemas __attribute__((cleanup(schemas_finish))) struct schemas

static void take_name(struct schemas *schemas, const char *file)
{
	const char *end = strrchr(file, '.');
	if (!end || end - file >= NAME_BYTES || file[0] == '.' ||
		strcmp(end, suffix) != 0 || schemas->count == SCHEMAS_MOST)
		return;
	(void)snprintf(schemas->names[schemas->count++], NAME_BYTES, "%.*s",
		(int)(end - file), file);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int find_all(struct session *session, struct schemas *schemas)
{
	schemas->directory = kp_place_find("schemas");
	if (!schemas->directory)
		return output_no_memory(&session->output);
	DIR *stream = opendir(schemas->directory);
	if (!stream)
		return output_refuse(&session->output, "missing_file", schemas->directory,
			"cannot read %s: %s", schemas->directory, strerror(errno));
	struct dirent *entry;
	while ((entry = readdir(stream)))
		take_name(schemas, entry->d_name);
	(void)closedir(stream);
	take_name(schemas, KP_INTERFACE ".json");
	qsort(schemas->names, schemas->count, NAME_BYTES, by_name);
	return KP_EXIT_OK;
}

static int read_text(struct session *session, const struct schemas *schemas,
	const char *name, char **text, size_t *size)
{
	char file[NAME_BYTES + sizeof(suffix)];
	struct kp_diag diag;
	(void)snprintf(file, sizeof(file), "%s%s", name, suffix);
	owned_fd dir = open(schemas->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (kp_file_read(dir, file, SCHEMA_BYTES, text, size, &diag) < 0)
		return output_fail_diag(&session->output, &diag);
	return KP_EXIT_OK;
}

static int read_one(struct session *session, const struct schemas *schemas,
	const char *name, json_t **schema)
{
	owned_text text = NULL;
	size_t size = 0;
	struct kp_diag diag;
	int status = read_text(session, schemas, name, &text, &size);
	if (status == KP_EXIT_OK && kp_json_parse(text, size, name, schema, &diag) < 0)
		status = output_fail_diag(&session->output, &diag);
	return status;
}

static bool is_interface(const char *name)
{
	return strcmp(name, KP_INTERFACE) == 0;
}

/* ---- all of them ---------------------------------------------------------------- */

static int title_of(struct session *session, const struct schemas *schemas,
	const char *name, json_t **row)
{
	static const char protocol[] = "The protocol of plugind's socket (Varlink)";
	owned_json *schema = NULL;
	int status = is_interface(name) ? KP_EXIT_OK
					: read_one(session, schemas, name, &schema);
	if (status != KP_EXIT_OK)
		return status;
	*row = json_pack("{s:s, s:s}", "name", name, "title",
		is_interface(name) ? protocol : field_text(schema, "title", ""));
	return *row ? KP_EXIT_OK : output_no_memory(&session->output);
}

static int list_rows(struct session *session, const struct schemas *schemas, json_t *rows)
{
	for (size_t i = 0; i < schemas->count; i++) {
		json_t *row = NULL;
		int status = title_of(session, schemas, schemas->names[i], &row);
		if (status != KP_EXIT_OK)
			return status;
		if (json_array_append_new(rows, row) < 0)
			return output_no_memory(&session->output);
	}
	return KP_EXIT_OK;
}

static int put_list(const struct session *session, const json_t *rows)
{
	static const struct grid_column columns[] = {{"NAME", false}, {"TITLE", false}};
	struct grid grid = {.columns = columns, .n_columns = 2};
	size_t i;
	json_t *row;
	json_array_foreach ((json_t *)(uintptr_t)rows, i, row) {
		if (session->output.quiet) {
			output_line(&session->output, TONE_PLAIN, "%s",
				field_text(row, "name", "?"));
			continue;
		}
		grid_add(&grid, TONE_PLAIN, "%s", field_text(row, "name", "?"));
		grid_add(&grid, TONE_PLAIN, "%s", field_text(row, "title", ""));
	}
	return session->output.quiet ? KP_EXIT_OK : grid_print(&grid, &session->output);
}

static int run_list(struct session *session, const struct schemas *schemas)
{
	owned_json *document = json_pack("{s:[]}", "schemas");
	if (!document)
		return output_no_memory(&session->output);
	json_t *rows = json_object_get(document, "schemas");
	int status = list_rows(session, schemas, rows);
	if (status != KP_EXIT_OK)
		return status;
	return session->output.json ? output_json(document) : put_list(session, rows);
}

/* ---- one ------------------------------------------------------------------------ */

static int put_interface(const struct session *session)
{
	if (!session->output.json) {
		output_put(&session->output, TONE_PLAIN, kp_interface_text,
			strlen(kp_interface_text));
		return KP_EXIT_OK;
	}
	owned_json *document = json_pack("{s:s, s:s}", "interface", KP_INTERFACE,
		"description", kp_interface_text);
	return document ? output_json(document) : output_no_memory(&session->output);
}

static int unknown(
	struct session *session, const struct schemas *schemas, const char *name)
{
	const char *names[SCHEMAS_MOST];
	for (size_t i = 0; i < schemas->count; i++)
		names[i] = schemas->names[i];
	const char *nearest = kp_text_nearest(name, names, schemas->count);
	return output_refuse(&session->output, "unknown_schema", name,
		"there is no schema %s; `pluginctl schema` lists them%s%s%s", name,
		nearest ? "; did you mean " : "", nearest ? nearest : "",
		nearest ? "?" : "");
}

static const char *find_among(const struct schemas *schemas, const char *name)
{
	for (size_t i = 0; i < schemas->count; i++)
		if (strcasecmp(schemas->names[i], name) == 0)
			return schemas->names[i];
	return NULL;
}

/* A method's name stands for its reply, where no file has that name. */
static const char *find_name(const struct schemas *schemas, const char *name)
{
	char reply[NAME_BYTES];
	const char *found = find_among(schemas, name);
	(void)snprintf(reply, sizeof(reply), "reply.%s", name);
	return found ? found : find_among(schemas, reply);
}

static int run_one(
	struct session *session, const struct schemas *schemas, const char *asked)
{
	const char *name = find_name(schemas, asked);
	owned_json *schema = NULL;
	if (!name)
		return unknown(session, schemas, asked);
	if (is_interface(name))
		return put_interface(session);
	int status = read_one(session, schemas, name, &schema);
	return status == KP_EXIT_OK ? output_json(schema) : status;
}

static int run(struct session *session)
{
	owned_schemas schemas = {0};
	int status = find_all(session, &schemas);
	if (status != KP_EXIT_OK)
		return status;
	return session->arguments.n_words
		       ? run_one(session, &schemas, session->arguments.words[0])
		       : run_list(session, &schemas);
}

const struct command schema_command = {
	.name = "schema",
	.args = "[NAME]",
	.most = 1,
	.summary = "Print the JSON schema of a file or reply, or list them",
	.help = "NAME is a kind of file (manifest, note, family, config, bench), a "
		"method "
		"of "
		"the protocol (List: what `list --json` prints), or " KP_INTERFACE
		": the "
		"protocol itself. No plugind is asked.",
	.run = run,
};
