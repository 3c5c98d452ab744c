/* SPDX-License-Identifier: MIT */
/* Lines with sums: a bit that fell over costs one plugin its history, not all of them. */
#include "daemon/history/history_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/registry/decisions_sum.h"

#define FORMAT_KEY "{\"format\":\""
static const char format_line[] = FORMAT_KEY HISTORY_FORMAT "\"}\n";

static const struct kp_json_key plugin_keys[] = {
	{"plugin", KP_JSON_STRING, true},
	{"next", KP_JSON_INTEGER, true},
	{"generations", KP_JSON_ARRAY, true},
	{"sum", KP_JSON_STRING, true},
};
static const struct kp_json_key edition_keys[] = {
	{"number", KP_JSON_INTEGER, true},
	{"at", KP_JSON_INTEGER, true},
	{"until", KP_JSON_INTEGER, true},
	{"bytes", KP_JSON_INTEGER, true},
	{"verdict", KP_JSON_STRING, true},
	{"code", KP_JSON_STRING, true},
	{"sha256", KP_JSON_STRING, true},
	{"closure", KP_JSON_STRING, true},
	{"entry", KP_JSON_STRING, true},
	{"version", KP_JSON_STRING, true},
	{"message", KP_JSON_STRING, true},
};

/* ---- writing --------------------------------------------------------------------- */

static json_t *edition_json(const struct edition *edition)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:s, s:s, s:s, s:s, s:o, s:o, s:o}",
		"number", (json_int_t)edition->number, "at", (json_int_t)edition->at,
		"until", (json_int_t)edition->until, "bytes", (json_int_t)edition->bytes,
		"verdict", kp_state_name(edition->verdict), "code", edition->code,
		"sha256", edition->digest, "closure", edition->closure, "entry",
		kp_json_clean_string(edition->entry), "version",
		kp_json_clean_string(edition->version), "message",
		kp_json_clean_string(edition->message));
}

static bool print_plugin(FILE *out, const struct chronicle *chronicle)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < chronicle->count; i++)
		list = kp_json_append(list, edition_json(&chronicle->editions[i]));
	owned_json *line =
		list ? json_pack("{s:o, s:I, s:o}", "plugin",
			       kp_json_clean_string(chronicle->plugin), "next",
			       (json_int_t)chronicle->next, "generations", list)
		     : NULL;
	if (!line || kp_decisions_seal(line) < 0)
		return false;
	owned_text text = kp_json_dumps(line, JSON_COMPACT);
	return text && fprintf(out, "%s\n", text) > 0;
}

void history_text_finish(struct history_text *text)
{
	if (text->out)
		(void)fclose(text->out);
	free(text->bytes);
	free(text->last);
	*text = (struct history_text){0};
}

static bool begin(struct history_text *text)
{
	if (text->out)
		return true;
	text->out = open_memstream(&text->bytes, &text->size);
	return text->out && fputs(format_line, text->out) >= 0;
}

/* The last line; then the text is whole. */
static bool end(struct history_text *text)
{
	bool written = fprintf(text->out, "{\"end\":%zu}\n", text->lines) > 0;

	written = fclose(text->out) == 0 && written;
	text->out = NULL;
	return written;
}

static bool print_some(struct history_text *text, const struct chronicles *list,
	size_t at, size_t behind)
{
	for (; at < behind; at++, text->lines++)
		if (!print_plugin(text->out, &list->items[at]))
			return false;
	free(text->last);
	text->last = strdup(list->items[behind - 1].plugin);
	return text->last != NULL;
}

int history_text_go_on(
	struct history_text *text, const struct chronicles *list, size_t most)
{
	size_t at = text->last ? chronicles_behind(list, text->last) : 0;
	size_t behind = list->count - at > most ? at + most : list->count;

	if (begin(text) && (at == behind || print_some(text, list, at, behind))) {
		if (behind < list->count)
			return 1;
		if (end(text))
			return 0;
	}
	history_text_finish(text);
	return -1;
}

char *history_text_take(struct history_text *text, size_t *size)
{
	char *bytes = text->bytes;

	*size = text->size;
	text->bytes = NULL;
	history_text_finish(text);
	return bytes;
}

char *history_print(const struct chronicles *list, size_t *size)
{
	struct history_text text = {0};

	return history_text_go_on(&text, list, SIZE_MAX) == 0
		       ? history_text_take(&text, size)
		       : NULL;
}

/* ---- reading --------------------------------------------------------------------- */

static int bad(struct kp_diag *diag, const char *message)
{
	return kp_diag_set(diag, "bad_history", "history.json", "%s", message);
}

static bool is_digest(const char *text)
{
	return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static int64_t number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static int read_edition(
	const json_t *item, struct chronicle *chronicle, struct kp_diag *diag)
{
	struct edition read = {.number = number(item, "number"),
		.at = number(item, "at"),
		.until = number(item, "until"),
		.bytes = number(item, "bytes")};

	if (kp_json_check(item, "generations", edition_keys, KP_COUNT(edition_keys), NULL,
		    diag) < 0)
		return -1;
	const char *digest = kp_json_text(item, "sha256");
	const char *closure = kp_json_text(item, "closure");
	if (!is_digest(digest) || !is_digest(closure) ||
		!kp_state_parse(kp_json_text(item, "verdict"), &read.verdict))
		return bad(diag, "a generation has no digest, or an unknown verdict");
	memcpy(read.digest, digest, sizeof(read.digest));
	memcpy(read.closure, closure, sizeof(read.closure));
	(void)snprintf(read.code, sizeof(read.code), "%s", kp_json_text(item, "code"));
	read.entry = (char *)(uintptr_t)kp_json_text(item, "entry");
	read.version = (char *)(uintptr_t)kp_json_text(item, "version");
	read.message = (char *)(uintptr_t)kp_json_text(item, "message");
	return chronicle_add(chronicle, &read) ? 0 : kp_diag_no_memory(diag);
}

static int read_editions(
	const json_t *line, struct chronicle *chronicle, struct kp_diag *diag)
{
	const json_t *list = json_object_get(line, "generations");

	chronicle->next = number(line, "next");
	for (size_t i = 0; i < json_array_size(list); i++)
		if (read_edition(json_array_get(list, i), chronicle, diag) < 0)
			return -1;
	return 0;
}

static int read_plugin(const json_t *line, struct chronicles *list, struct kp_diag *diag)
{
	if (kp_json_check(line, "", plugin_keys, KP_COUNT(plugin_keys), NULL, diag) < 0)
		return -1;
	const char *plugin = kp_json_text(line, "plugin");
	int whole = kp_decisions_is_whole(line);
	if (whole < 0)
		return kp_diag_no_memory(diag);
	if (!whole)
		return bad(diag, "a line was changed: its sum is not that of the rest");
	if (chronicles_find(list, plugin))
		return bad(diag, "a plugin is there twice");
	struct chronicle *chronicle = chronicles_open(list, plugin);
	if (!chronicle)
		return kp_diag_no_memory(diag);
	if (read_editions(line, chronicle, diag) == 0)
		return 0;
	chronicles_remove(list, plugin);
	return -1;
}

static int read_line(const char *line, size_t length, const char *path,
	struct chronicles *list, bool *is_end, struct kp_diag *diag)
{
	owned_json *value = NULL;

	if (kp_json_parse(line, length, path, &value, diag) < 0)
		return -1;
	const json_t *end = json_object_get(value, "end");
	if (!end)
		return read_plugin(value, list, diag);
	*is_end = true;
	return json_integer_value(end) == (json_int_t)list->count
		       ? 0
		       : bad(diag, "lines are missing: there are fewer than it counts");
}

static int check_format(const char *text, size_t size, struct kp_diag *diag)
{
	const size_t length = sizeof(format_line) - 1;
	/* "kplug-history/N": another number is that of another kplug. */
	const size_t same = sizeof(FORMAT_KEY) - 1 + sizeof(HISTORY_FORMAT) - 2;

	if (size >= length && memcmp(text, format_line, length) == 0)
		return 0;
	if (size > same && memcmp(text, format_line, same) == 0 && text[same] >= '2' &&
		text[same] <= '9')
		return kp_diag_set(diag, "newer_format", "history.json",
			"it was written by a newer kplug, this one "
			"reads " HISTORY_FORMAT);
	return bad(diag, "the first line is not that of " HISTORY_FORMAT);
}

int history_parse(const char *text, size_t size, const char *path,
	struct chronicles *list, struct kp_diags *wrong, struct kp_diag *diag)
{
	const char *end = text + size;
	bool is_end = false;
	struct kp_diag why;

	if (check_format(text, size, diag) < 0)
		return -1;
	for (const char *line = text + sizeof(format_line) - 1; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)((newline ? newline : end) - line);
		if (read_line(line, length, path, list, &is_end, &why) < 0) {
			if (strcmp(why.code, "no_memory") == 0)
				return kp_diag_no_memory(diag);
			kp_diags_add(wrong, &why);
		}
		line += length + 1;
	}
	if ((!is_end || end[-1] != '\n') && wrong->count == 0) {
		(void)bad(&why, "it was cut: its last line is missing");
		kp_diags_add(wrong, &why);
	}
	return 0;
}
