/* SPDX-License-Identifier: MIT */
/* Reading and printing of members. */
#include "cmd/field.h"

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

char *field_reason(const json_t *reason)
{
	char *text = NULL;
	if (!json_is_object(reason))
		return strdup("");
	if (asprintf(&text, "%s: %s", field_text(reason, "code", "?"),
		    field_text(reason, "message", "?")) < 0)
		return NULL;
	return text;
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
	owned_chars text = field_join(json_object_get(object, key), ", ");
	if (text)
		grid_pair(grid, title, "%s", text);
	else
		grid->failed = true;
}

void field_pair_text(
	struct grid *grid, const char *title, const json_t *object, const char *key)
{
	const char *text = field_text(object, key, NULL);
	if (text && *text)
		grid_pair(grid, title, "%s", text);
}
