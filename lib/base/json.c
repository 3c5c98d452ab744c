/* SPDX-License-Identifier: MIT */
/* Bounded parsing, key checks and places of keys. */
#include "lib/base/json.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"

enum { PATH_BYTES = 192, KEYS_OFFERED = 64 };

/* A byte of the text, counted in lines and columns. */
struct cursor {
	const char *at;
	const char *end;
	unsigned line;
	unsigned column;
};

static void step(struct cursor *c)
{
	if (*c->at == '\n') {
		c->line++;
		c->column = 0;
	}
	if (((unsigned char)*c->at & 0xc0) != 0x80)
		c->column++;
	c->at++;
}

static void skip_blanks(struct cursor *c)
{
	while (c->at < c->end && strchr(" \t\r\n", *c->at) && *c->at)
		step(c);
}

static void skip_string(struct cursor *c)
{
	step(c);
	while (c->at < c->end && *c->at != '"') {
		if (*c->at == '\\' && c->at + 1 < c->end)
			step(c);
		step(c);
	}
	if (c->at < c->end)
		step(c);
}

/* Stops behind the value; tells where nesting gets deeper than `depth`. */
static bool skip_value(struct cursor *c, int depth)
{
	int level = 0;
	do {
		skip_blanks(c);
		if (c->at >= c->end)
			return true;
		if (*c->at == '"') {
			skip_string(c);
		} else if (*c->at == '{' || *c->at == '[') {
			if (++level > depth)
				return false;
			step(c);
		} else if (*c->at == '}' || *c->at == ']') {
			level--;
			step(c);
		} else if (*c->at == ',' || *c->at == ':') {
			step(c);
		} else {
			while (c->at < c->end && *c->at &&
				!strchr(",:{}[]\" \t\r\n", *c->at))
				step(c);
			if (c->at < c->end && !*c->at)
				step(c);
		}
	} while (level > 0);
	return true;
}

/* Fills in where the byte at `offset` is. Returns -1. */
static int place_at(
	struct kp_diag *diag, const char *file, const char *text, size_t offset)
{
	struct cursor c = {text, text + offset, 1, 1};
	while (c.at < c.end)
		step(&c);
	return kp_diag_at(diag, file, c.line, c.column);
}

static int check_bounds(
	const char *text, size_t size, const char *file, struct kp_diag *diag)
{
	struct cursor c = {text, text + size, 1, 1};

	if (size > KP_JSON_BYTES) {
		kp_diag_set(diag, "json_too_large", file,
			"%zu bytes of JSON, at most %d are read", size, KP_JSON_BYTES);
		return kp_diag_at(diag, file, 0, 0);
	}
	const char *nul = memchr(text, '\0', size);
	if (nul) {
		kp_diag_set(diag, "json_nul", file, "a NUL byte in the JSON text");
		return place_at(diag, file, text, (size_t)(nul - text));
	}
	size_t valid = kp_text_utf8_length(text, size);
	if (valid < size) {
		kp_diag_set(diag, "json_not_utf8", file, "the JSON text is not UTF-8");
		return place_at(diag, file, text, valid);
	}
	if (!skip_value(&c, KP_JSON_DEPTH)) {
		kp_diag_set(diag, "json_too_deep", file, "nested deeper than %d levels",
			KP_JSON_DEPTH);
		return kp_diag_at(diag, file, c.line, c.column);
	}
	return 0;
}

int kp_json_parse(const char *text, size_t size, const char *file, json_t **out,
	struct kp_diag *diag)
{
	json_error_t error;
	bool no_memory;

	if (check_bounds(text, size, file, diag) < 0)
		return -1;
	json_t *value = kp_json_load(
		text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error, &no_memory);
	if (value) {
		*out = value;
		return 0;
	}
	if (no_memory)
		return kp_diag_no_memory(diag);
	enum json_error_code why = json_error_code(&error);
	const char *code = why == json_error_duplicate_key	? "json_duplicate_key"
			   : why == json_error_null_character	? "json_nul"
			   : why == json_error_null_byte_in_key ? "json_nul"
								: "json_syntax";
	kp_diag_set(diag, code, file, "%s", error.text);
	return kp_diag_at(diag, file, error.line > 0 ? (unsigned)error.line : 0,
		error.column > 0 ? (unsigned)error.column : 1);
}

const char *kp_json_type_name(const json_t *value)
{
	if (!value)
		return "nothing";
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "an integer";
	case JSON_REAL:
		return "a real number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		return "null";
	}
	return "unknown";
}

static const char *types_name(unsigned types, char *text, size_t size)
{
	static const struct {
		unsigned bits;
		const char *name;
	} names[] = {
		{KP_JSON_OBJECT, "an object"},
		{KP_JSON_ARRAY, "an array"},
		{KP_JSON_STRING, "a string"},
		{KP_JSON_NUMBER, "a number"},
		{KP_JSON_INTEGER, "an integer"},
		{KP_JSON_BOOLEAN, "a boolean"},
		{KP_JSON_NULL, "null"},
	};
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if ((types & names[i].bits) != names[i].bits)
			continue;
		types &= ~names[i].bits;
		int n = snprintf(text + used, size - used, "%s%s", used ? " or " : "",
			names[i].name);
		used += n > 0 ? (size_t)n : 0;
		if (used >= size)
			break;
	}
	return text;
}

int kp_json_wrong_type(
	struct kp_diag *diag, const char *path, const json_t *value, unsigned types)
{
	char wanted[96];
	return kp_diag_set(diag, "wrong_type", path, "%s%s%s expected, not %s", path,
		path[0] ? ": " : "", types_name(types, wanted, sizeof(wanted)),
		kp_json_type_name(value));
}

static const char *join(const char *path, const char *key, char *out, size_t size)
{
	(void)snprintf(out, size, "%s%s%s", path, path[0] ? "." : "", key);
	return out;
}

static int unknown_key(const char *path, const char *key, const struct kp_json_key *keys,
	size_t count, struct kp_diag *diag)
{
	const char *names[KEYS_OFFERED];
	char offer[KP_TEXT_OFFER];
	size_t n = count < KEYS_OFFERED ? count : KEYS_OFFERED;
	for (size_t i = 0; i < n; i++)
		names[i] = keys[i].name;
	return kp_diag_set(diag, "unknown_key", path, "unknown key %s%s", path,
		kp_text_offer(key, names, n, NULL, offer));
}

static int check_key(const char *path, const char *key, const json_t *value,
	const struct kp_json_key *keys, size_t count, struct kp_diags *unknown,
	struct kp_diag *diag)
{
	char name[PATH_BYTES];
	struct kp_diag own;
	size_t i = 0;

	while (i < count && strcmp(keys[i].name, key) != 0)
		i++;
	if (i < count && keys[i].types & 1u << json_typeof(value))
		return 0;
	join(path, key, name, sizeof(name));
	if (i < count)
		return kp_json_wrong_type(diag, name, value, keys[i].types);
	unknown_key(name, key, keys, count, &own);
	if (unknown) {
		kp_diags_add(unknown, &own);
		return 0;
	}
	if (diag)
		*diag = own;
	return -1;
}

int kp_json_check(const json_t *value, const char *path, const struct kp_json_key *keys,
	size_t count, struct kp_diags *unknown, struct kp_diag *diag)
{
	const char *key;
	json_t *member;
	char name[PATH_BYTES];

	if (!json_is_object(value))
		return kp_json_wrong_type(diag, path, value, KP_JSON_OBJECT);
	json_object_foreach ((json_t *)(uintptr_t)value, key, member)
		if (check_key(path, key, member, keys, count, unknown, diag) < 0)
			return -1;
	for (size_t i = 0; i < count; i++)
		if (keys[i].required && !json_object_get(value, keys[i].name))
			return kp_diag_set(diag, "missing_key",
				join(path, keys[i].name, name, sizeof(name)),
				"the key %s is missing", name);
	return 0;
}

/* Does the path go on with this key? Returns what is left of it, or NULL. */
static const char *behind_key(const char *path, const struct cursor *key)
{
	/* key->at is the opening quote; keys with escapes are not looked for. */
	const char *from = key->at + 1;
	const char *to = from;
	while (to < key->end && *to != '"')
		to++;
	size_t length = (size_t)(to - from);
	if (strncmp(path, from, length) != 0 || strlen(path) < length)
		return NULL;
	path += length;
	return *path == '\0' || *path == '.' || *path == '[' ? path : NULL;
}

/* Moves to the member or element that the path starts with; the path's rest. */
static const char *enter(struct cursor *c, const char *path)
{
	if (*c->at == '[' && path[0] == '[') {
		char *rest;
		unsigned long wanted = strtoul(path + 1, &rest, 10);
		step(c);
		for (unsigned long i = 0; i < wanted && c->at < c->end; i++) {
			skip_value(c, INT32_MAX);
			skip_blanks(c);
			if (c->at < c->end && *c->at == ',')
				step(c);
		}
		return *rest == ']' ? rest + 1 : NULL;
	}
	if (*c->at != '{')
		return NULL;
	path += *path == '.';
	step(c);
	while (skip_blanks(c), c->at < c->end && *c->at == '"') {
		struct cursor key = *c;
		const char *rest = behind_key(path, &key);
		if (rest && !*rest)
			return rest;
		skip_string(c);
		skip_blanks(c);
		if (c->at < c->end && *c->at == ':')
			step(c);
		skip_blanks(c);
		if (rest)
			return rest;
		skip_value(c, INT32_MAX);
		skip_blanks(c);
		if (c->at < c->end && *c->at == ',')
			step(c);
	}
	return NULL;
}

int kp_json_place(struct kp_diag *diag, const char *text, size_t size, const char *file)
{
	if (!diag)
		return -1;
	struct cursor c = {text, text + size, 1, 1};
	struct cursor last;
	const char *path = diag->object;

	kp_diag_at(diag, file, 0, 0);
	skip_blanks(&c);
	last = c;
	/* A missing key has no place of its own: the object that lacks it has. */
	while (path && *path && c.at < c.end) {
		path = enter(&c, path);
		if (!path)
			break;
		skip_blanks(&c);
		last = c;
	}
	return kp_diag_at(diag, file, last.line, last.column);
}

json_t *kp_json_clean_string(const char *bytes)
{
	size_t size = strlen(bytes) * 4 + 1;
	char *text = malloc(size);
	if (!text)
		return NULL;
	kp_text_clean(bytes, text, size);
	json_t *value = json_string(text);
	free(text);
	return value;
}

json_t *kp_json_clean_or_null(const char *bytes)
{
	return bytes && bytes[0] ? kp_json_clean_string(bytes) : json_null();
}

json_t *kp_json_or_null(const json_t *value)
{
	return value ? json_incref((json_t *)(uintptr_t)value) : json_null();
}

json_t *kp_json_append(json_t *list, json_t *item)
{
	/* It takes the item in any case, and refuses both of them as NULL. */
	if (json_array_append_new(list, item) == 0)
		return list;
	json_decref(list);
	return NULL;
}

json_t *kp_json_merge(json_t *object, json_t *more)
{
	if (json_object_update(object, more) == 0) {
		json_decref(more);
		return object;
	}
	json_decref(object);
	json_decref(more);
	return NULL;
}

const char *kp_json_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}
