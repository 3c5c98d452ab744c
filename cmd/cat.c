/* SPDX-License-Identifier: MIT */
/* `pluginctl cat`: the manifest that holds, and where each key of it came from. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/name.h"
#include "cmd/session.h"
#include "lib/base/text.h"
#include "lib/base/json.h"
#include "lib/plugin/manifest.h"

static const struct question asking_layers = {
	"Layers", {{"manifest_dirs", KP_JSON_ARRAY, true}}};
static const struct question asking_info = {"Info", {{"plugin", KP_JSON_OBJECT, true}}};

/* What was found; `text` and `read` are those of the file that counts. */
struct found {
	json_t *layers, *info;
	json_t *hidden; /* paths below the one that counts */
	char *text;
	size_t size;
	json_t *read; /* its JSON; NULL: a mask, or wrong */
	struct kp_manifest manifest;
	struct kp_diag diag;		  /* why there is no `read` */
	bool is_there, is_masked, failed; /* memory */
};

static void found_finish(struct found *found)
{
	json_decref(found->layers);
	json_decref(found->info);
	json_decref(found->hidden);
	free(found->text);
	json_decref(found->read);
	kp_manifest_finish(&found->manifest);
}

#define owned_found __attribute__((cleanup(found_finish))) struct found

/* ---- finding ---------------------------------------------------------------------- */

static void read_text(struct found *found, const char *path)
{
	if (kp_manifest_parse(found->text, found->size, path, &found->manifest,
		    &found->diag) == 0 &&
		kp_json_parse(
			found->text, found->size, path, &found->read, &found->diag) == 0)
		return;
	found->failed |= kp_manifest_begin(found->text, found->size, path,
				 &found->manifest, NULL) < 0;
}

static bool is_mask(const char *path)
{
	char target[16];
	ssize_t n = readlink(path, target, sizeof(target));
	return n == (ssize_t)strlen("/dev/null") &&
	       memcmp(target, "/dev/null", (size_t)n) == 0;
}

/* The file in one layer: counts where none above did. */
static void look(struct found *found, const char *path)
{
	bool mask = is_mask(path);
	if (!mask && access(path, F_OK) < 0)
		return;
	if (found->is_there) {
		(void)json_array_append_new(found->hidden, json_string(path));
		return;
	}
	found->is_there = true;
	if (!mask &&
		kp_file_read(AT_FDCWD, path, KP_MANIFEST_BYTES, &found->text,
			&found->size, &found->diag) == 0 &&
		found->size > 0) {
		read_text(found, path);
		return;
	}
	found->is_masked = mask || (found->text && found->size == 0);
	found->failed |= kp_manifest_begin("", 0, path, &found->manifest, NULL) < 0;
}

static int find(struct session *session, const char *name, struct found *found)
{
	size_t i;
	json_t *dir;
	int status = name_ask(session, &asking_info, name,
		json_pack("{s:s}", "name", name), &found->info);
	if (status == KP_EXIT_OK)
		status = session_ask(
			session, &asking_layers, json_object(), &found->layers);
	if (status != KP_EXIT_OK)
		return status;
	found->hidden = json_array();
	json_array_foreach (json_object_get(found->layers, "manifest_dirs"), i, dir) {
		owned_text path = NULL;
		if (asprintf(&path, "%s/%s.json", json_string_value(dir), name) < 0)
			path = NULL;
		if (path)
			look(found, path);
	}
	return found->hidden && !found->failed ? KP_EXIT_OK
					       : output_no_memory(&session->output);
}

/* ---- what holds -------------------------------------------------------------------- */

/* What a key that is not written means; json_null where nothing does. */
static json_t *preset(const char *key)
{
	if (strcmp(key, "timeout_ms") == 0)
		return json_integer(KP_MANIFEST_TIMEOUT_MS);
	if (strcmp(key, "priority_offset") == 0)
		return json_integer(0);
	if (strcmp(key, "enabled") == 0)
		return json_true();
	if (strcmp(key, "config") == 0)
		return json_object();
	return json_null();
}

static json_t *key_json(const struct found *found, const char *key)
{
	struct kp_diag place = {0};
	json_t *value = json_object_get(found->read, key);
	if (!value)
		return json_pack("{s:s, s:o, s:s, s:n, s:n, s:n}", "key", key, "value",
			preset(key), "from", "default", "path", "line", "column");
	(void)snprintf(place.object, sizeof(place.object), "%s", key);
	(void)kp_json_place(&place, found->text, found->size, found->manifest.path);
	return json_pack("{s:s, s:O, s:s, s:s, s:i, s:i}", "key", key, "value", value,
		"from", "manifest", "path", found->manifest.path, "line", (int)place.line,
		"column", (int)place.column);
}

static json_t *keys_json(const struct found *found)
{
	static const char *const keys[] = {"library", "sha256", "config", "timeout_ms",
		"priority_offset", "enabled"};
	json_t *list = json_array();
	for (size_t i = 0; found->read && i < KP_COUNT(keys); i++)
		list = kp_json_append(list, key_json(found, keys[i]));
	return list;
}

static json_t *document_json(const struct found *found, const char *name)
{
	const json_t *plugin = json_object_get(found->info, "plugin");
	const char *wrong = found->read || found->is_masked ? NULL : found->diag.code;
	json_t *error = wrong ? json_pack("{s:s, s:o}", "code", wrong, "message",
					kp_json_clean_string(found->diag.message))
			      : json_null();
	return json_pack("{s:s, s:s?, s:b, s:o, s:o, s:O, s:o}", "name", name, "manifest",
		found->manifest.path, "masked", found->is_masked, "error", error, "keys",
		keys_json(found), "hidden", found->hidden, "library",
		kp_json_or_null(json_object_get(plugin, "library")));
}

/* ---- text ---------------------------------------------------------------------------
 */

static int put_keys(const struct session *session, const json_t *document)
{
	static const struct grid_column columns[] = {
		{"KEY", false}, {"VALUE", false}, {"FROM", false}};
	struct grid grid = {.columns = columns, .n_columns = 3};
	size_t i;
	json_t *row;
	json_array_foreach (json_object_get(document, "keys"), i, row) {
		const json_t *value = json_object_get(row, "value");
		owned_text text =
			json_is_null(value)
				? strdup("-")
				: kp_json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
		if (field_is(row, "from", "default") && json_is_null(value))
			continue;
		grid_add(&grid, TONE_PLAIN, "%s", field_text(row, "key", "?"));
		grid_add(&grid, TONE_PLAIN, "%s", text ? text : "?");
		if (field_is(row, "from", "default"))
			grid_add(&grid, TONE_FAINT, "default");
		else
			grid_add(&grid, TONE_PLAIN, "%s:%lld:%lld",
				field_text(row, "path", "?"),
				(long long)field_int(row, "line"),
				(long long)field_int(row, "column"));
	}
	return grid_print(&grid, &session->output);
}

static int put_text(const struct session *session, const json_t *document)
{
	const struct output *output = &session->output;
	const json_t *error = json_object_get(document, "error");
	size_t i;
	json_t *path;
	int status = KP_EXIT_OK;
	output_line(output, TONE_TITLE, "# %s%s", field_text(document, "manifest", "?"),
		json_is_true(json_object_get(document, "masked")) ? " (a mask)" : "");
	if (json_is_object(error))
		output_line(output, TONE_BAD, "%s", field_text(error, "message", "?"));
	else if (json_array_size(json_object_get(document, "keys")) > 0)
		status = put_keys(session, document);
	json_array_foreach (json_object_get(document, "hidden"), i, path)
		output_line(output, TONE_FAINT, "# hidden: %s", json_string_value(path));
	return status;
}

/* What plugind has read may be older than what is there. */
static void remark_stale(const struct session *session, const struct found *found)
{
	const json_t *plugin = json_object_get(found->info, "plugin");
	const char *held = field_text(plugin, "manifest", NULL);
	if (held && found->manifest.path && strcmp(held, found->manifest.path) != 0)
		output_remark(&session->output,
			"plugind still holds %s; `pluginctl reload` lets it look", held);
}

static int run(struct session *session)
{
	owned_found found = {0};
	const char *name = session->arguments.words[0];
	int status = name_check(session, name, "described");
	if (status == KP_EXIT_OK)
		status = find(session, name, &found);
	if (status != KP_EXIT_OK)
		return status;
	if (!found.is_there)
		return output_refuse(&session->output, "missing_file", name,
			"%s has no manifest in any layer (loaded by hand, or its "
			"manifest has just left)",
			name);
	owned_json *document = document_json(&found, name);
	if (!document)
		return output_no_memory(&session->output);
	if (session->output.json)
		return output_json(document);
	remark_stale(session, &found);
	return put_text(session, document);
}

const struct command cat_command = {
	.name = "cat",
	.args = "NAME",
	.least = 1,
	.most = 1,
	.summary = "Show a plugin's manifest as it holds, and where each key came from",
	.help = "A manifest in a higher layer hides its namesakes below whole; those "
		"are named. A key that is not written has its default. Reads the files "
		"with your rights.",
	.offline = true,
	.run = run,
};
