/* SPDX-License-Identifier: MIT */
/* Reading and printing of members. */
#include "cmd/field.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/grid.h"

const char *field_text(const json_t *object, const char *key, const char *fallback)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : fallback;
}

bool field_is(const json_t *object, const char *key, const char *text)
{
	return strcmp(field_text(object, key, ""), text) == 0;
}

json_int_t field_int(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

size_t field_count(const json_t *object, const char *key)
{
	return json_array_size(json_object_get(object, key));
}

static void put_value(FILE *out, const json_t *value);

static void put_array(FILE *out, const json_t *array)
{
	size_t i;
	json_t *item;
	(void)fputc('{', out);
	json_array_foreach ((json_t *)(uintptr_t)array, i, item) {
		(void)fputs(i ? ", " : "", out);
		put_value(out, item);
	}
	(void)fputc('}', out);
}

static void put_object(FILE *out, const json_t *object)
{
	const char *key;
	json_t *item;
	const char *between = "";
	json_object_foreach ((json_t *)(uintptr_t)object, key, item) {
		(void)fprintf(out, "%s%s ", between, key);
		put_value(out, item);
		between = ", ";
	}
}

static void put_value(FILE *out, const json_t *value)
{
	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_OBJECT:
		put_object(out, value);
		break;
	case JSON_ARRAY:
		put_array(out, value);
		break;
	case JSON_STRING:
		(void)fputs(json_string_value(value), out);
		break;
	case JSON_INTEGER:
		(void)fprintf(out, "%lld", (long long)json_integer_value(value));
		break;
	case JSON_REAL:
		(void)fprintf(out, "%g", json_real_value(value));
		break;
	case JSON_TRUE:
		(void)fputs("true", out);
		break;
	case JSON_FALSE:
		(void)fputs("false", out);
		break;
	case JSON_NULL:
		break;
	}
}

char *field_print(const json_t *value)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	put_value(out, value);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

char *field_join(const json_t *array, const char *between)
{
	char *text = NULL;
	size_t size, i;
	json_t *item;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	json_array_foreach ((json_t *)(uintptr_t)array, i, item) {
		(void)fputs(i ? between : "", out);
		put_value(out, item);
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

char *field_shape(const json_t *shape)
{
	char *text = NULL;
	size_t size;
	const char *dim, *between = "";
	json_t *extent;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	json_object_foreach ((json_t *)(uintptr_t)shape, dim, extent) {
		(void)fprintf(out, "%s%s=", between, dim);
		put_value(out, extent);
		between = ",";
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* Is the word in the text, alone? */
static bool has_word(const char *text, const char *word)
{
	size_t size = strlen(word);
	for (const char *at = text; (at = strstr(at, word)); at += size) {
		bool begins =
			at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
		bool ends = !isalnum((unsigned char)at[size]) && at[size] != '_';
		if (begins && ends)
			return true;
	}
	return false;
}

/*
 * A code that is no word of the language ("abi_major") stands in a message as the
 * code alone; one that is ("host") only where the message begins with it.
 */
static bool tells_code(const char *message, const char *code)
{
	size_t size = strlen(code);
	return strchr(code, '_')
		       ? has_word(message, code)
		       : strncmp(message, code, size) == 0 && message[size] == ':';
}

char *field_sentence(const json_t *object, const char *told)
{
	char *text = NULL;
	const char *code = field_text(object, "code", "?");
	const char *message = field_text(object, "message", "?");
	if (!json_is_object(object))
		return strdup("");
	if ((told && strcmp(told, code) == 0) || tells_code(message, code))
		return strdup(message);
	if (asprintf(&text, "%s: %s", code, message) < 0)
		return NULL;
	return text;
}

void field_lines(const struct output *output, const json_t *array, const char *key)
{
	for (size_t i = 0; i < json_array_size(array); i++)
		output_line(output, TONE_PLAIN, "%s",
			field_text(json_array_get(array, i), key, "?"));
}

enum tone field_state_tone(const char *state)
{
	static const struct {
		const char *state;
		enum tone tone;
	} rows[] = {
		{"active", TONE_GOOD},
		{"enabled", TONE_GOOD},
		{"ok", TONE_GOOD},
		{"rejected", TONE_BAD},
		{"failed", TONE_BAD},
		{"quarantined", TONE_BAD},
		{"missing", TONE_BAD},
		{"unclaimed", TONE_FAINT},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].state, state) == 0)
			return rows[i].tone;
	return TONE_WARN;
}

void field_pair_list(
	struct grid *grid, const char *title, const json_t *object, const char *key)
{
	if (field_count(object, key) == 0)
		return;
	owned_text text = field_join(json_object_get(object, key), ", ");
	if (text)
		grid_pair(grid, title, "%s", text);
	else
		grid->failed = true;
}

void field_pair_text(
	struct grid *grid, const char *title, const json_t *object, const char *key)
{
	const char *text = field_text(object, key, "");
	while (*text) {
		size_t size = strcspn(text, "\n");
		if (size > 0) {
			grid_pair(grid, title, "%.*s", (int)size, text);
			title = "";
		}
		text += size + (text[size] == '\n');
	}
}

static void pair_warning(struct grid *grid, const json_t *warning)
{
	char *text = field_sentence(warning, NULL);
	if (text)
		grid_pair(grid, "warning", "%s", *text ? text : "?");
	else
		grid->failed = true;
	free(text);
}

void field_pair_warnings(struct grid *grid, const json_t *object)
{
	const json_t *warnings = json_object_get(object, "warnings");
	for (size_t i = 0; i < json_array_size(warnings); i++)
		pair_warning(grid, json_array_get(warnings, i));
}
