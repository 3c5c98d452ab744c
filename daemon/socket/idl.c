/* SPDX-License-Identifier: MIT */
/*
 * A reader of the part of Varlink's language that our interface uses. A type is
 * JSON: "int", or {"of": TYPE, "is": "maybe" | "array" | "map"}, {"members":
 * {name: TYPE}}, {"name": "Plugin"}.
 */
#include "daemon/socket/idl.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/text.h"

enum { WORD_BYTES = 64, PATH_BYTES = 192, NAMES_OFFERED = 64 };

struct idl {
	json_t *types; /* name -> TYPE */
	json_t *calls; /* method -> TYPE */
};

struct reader {
	const char *text, *at;
	struct kp_diag *diag;
};

static void skip(struct reader *r)
{
	while (*r->at && (isspace((unsigned char)*r->at) || *r->at == '#'))
		if (*r->at == '#')
			r->at += strcspn(r->at, "\n");
		else
			r->at++;
}

static int broken(struct reader *r, const char *wanted)
{
	unsigned line = 1;
	for (const char *c = r->text; c < r->at; c++)
		line += *c == '\n';
	return kp_diag_set(r->diag, "bad_interface", NULL,
		"line %u of the interface: %s expected", line, wanted);
}

static bool take(struct reader *r, const char *token)
{
	skip(r);
	if (strncmp(r->at, token, strlen(token)) != 0)
		return false;
	r->at += strlen(token);
	return true;
}

static int word(struct reader *r, char *out)
{
	size_t n = 0;
	skip(r);
	while (isalnum((unsigned char)r->at[n]) || r->at[n] == '_' || r->at[n] == '.')
		n++;
	if (n == 0 || n >= WORD_BYTES)
		return broken(r, "a name");
	memcpy(out, r->at, n);
	out[n] = '\0';
	r->at += n;
	return 0;
}

static json_t *type(struct reader *r);

static json_t *wrapped(struct reader *r, const char *is)
{
	return json_pack("{s:s, s:o}", "is", is, "of", type(r));
}

static json_t *members(struct reader *r)
{
	json_t *all = json_object();
	char name[WORD_BYTES];

	while (all && !take(r, ")")) {
		json_t *of = NULL;
		bool is_first = json_object_size(all) == 0;
		if (!is_first && !take(r, ","))
			broken(r, "a comma");
		else if (word(r, name) == 0 &&
			 (take(r, ":") || broken(r, "a colon") == 0))
			of = type(r);
		if (!of || json_object_set_new(all, name, of) < 0) {
			json_decref(all);
			return NULL;
		}
	}
	return json_pack("{s:o}", "members", all);
}

static json_t *type(struct reader *r)
{
	static const char *const plain[] = {"bool", "int", "float", "string", "object"};
	char name[WORD_BYTES];

	if (take(r, "?"))
		return wrapped(r, "maybe");
	if (take(r, "[]"))
		return wrapped(r, "array");
	if (take(r, "[string]"))
		return wrapped(r, "map");
	if (take(r, "("))
		return members(r);
	if (word(r, name) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (strcmp(plain[i], name) == 0)
			return json_string(name);
	return json_pack("{s:s}", "name", name);
}

/* "type NAME T", "error NAME T" (which nobody checks), "method NAME T -> T". */
static int declaration(struct reader *r, struct idl *idl)
{
	char kind[WORD_BYTES], name[WORD_BYTES];

	if (word(r, kind) < 0 || word(r, name) < 0)
		return -1;
	if (strcmp(kind, "interface") == 0)
		return 0;
	json_t *of = type(r);
	if (!of)
		return -1;
	if (strcmp(kind, "type") == 0)
		return json_object_set_new(idl->types, name, of);
	if (strcmp(kind, "method") != 0) {
		json_decref(of);
		return strcmp(kind, "error") == 0 ? 0
						  : broken(r, "type, method or error");
	}
	if (json_object_set_new(idl->calls, name, of) < 0)
		return -1;
	if (!take(r, "->"))
		return broken(r, "->");
	/* Replies are ours: nobody has to check them here. */
	json_t *reply = type(r);
	json_decref(reply);
	return reply ? 0 : -1;
}

struct idl *idl_new(const char *text, struct kp_diag *diag)
{
	struct reader r = {text, text, diag};
	struct idl *idl = calloc(1, sizeof(*idl));

	kp_diag_no_memory(diag);
	if (!idl)
		return NULL;
	*idl = (struct idl){json_object(), json_object()};
	bool is_whole = idl->types && idl->calls;
	while (is_whole && (skip(&r), *r.at))
		is_whole = declaration(&r, idl) == 0;
	if (is_whole)
		return idl;
	idl_free(idl);
	return NULL;
}

void idl_free(struct idl *idl)
{
	if (!idl)
		return;
	json_decref(idl->types);
	json_decref(idl->calls);
	free(idl);
}

static int check(const struct idl *idl, const json_t *is, const json_t *value,
	const char *path, struct kp_diag *diag);

static int check_plain(
	const char *is, const json_t *value, const char *path, struct kp_diag *diag)
{
	unsigned types = strcmp(is, "bool") == 0     ? KP_JSON_BOOLEAN
			 : strcmp(is, "int") == 0    ? KP_JSON_INTEGER
			 : strcmp(is, "float") == 0  ? KP_JSON_NUMBER
			 : strcmp(is, "string") == 0 ? KP_JSON_STRING
						     : ~(unsigned)KP_JSON_NULL;
	if (value && types & 1u << json_typeof(value))
		return 0;
	if (!value || json_is_null(value))
		return kp_diag_set(diag, "missing_key", path, "%s is missing", path);
	return kp_json_wrong_type(diag, path, value, types);
}

static const char *join(const char *path, const char *key, char *out)
{
	(void)snprintf(out, PATH_BYTES, "%s%s%s", path, path[0] ? "." : "", key);
	return out;
}

static int unknown_member(
	const json_t *known, const char *path, const char *key, struct kp_diag *diag)
{
	const char *names[NAMES_OFFERED];
	char whole[PATH_BYTES];
	const char *name;
	json_t *of;
	size_t n = 0;

	json_object_foreach ((json_t *)(uintptr_t)known, name, of)
		if (n < NAMES_OFFERED)
			names[n++] = name;
	const char *nearest = kp_text_nearest(key, names, n);
	join(path, key, whole);
	if (nearest)
		return kp_diag_set(diag, "unknown_key", whole,
			"unknown key %s; did you mean %s?", whole, nearest);
	return kp_diag_set(diag, "unknown_key", whole, "unknown key %s", whole);
}

static int check_members(const struct idl *idl, const json_t *known, const json_t *value,
	const char *path, struct kp_diag *diag)
{
	char whole[PATH_BYTES];
	const char *key;
	json_t *item;

	if (!json_is_object(value))
		return value ? kp_json_wrong_type(diag, path, value, KP_JSON_OBJECT)
			     : kp_diag_set(
				       diag, "missing_key", path, "%s is missing", path);
	json_object_foreach ((json_t *)(uintptr_t)value, key, item)
		if (!json_object_get(known, key))
			return unknown_member(known, path, key, diag);
	json_object_foreach ((json_t *)(uintptr_t)known, key, item)
		if (check(idl, item, json_object_get(value, key), join(path, key, whole),
			    diag) < 0)
			return -1;
	return 0;
}

static int check_each(const struct idl *idl, const json_t *of, bool is_map,
	const json_t *value, const char *path, struct kp_diag *diag)
{
	char whole[PATH_BYTES];
	const char *key;
	json_t *item;

	if (!value || json_is_null(value))
		return kp_diag_set(diag, "missing_key", path, "%s is missing", path);
	if (is_map ? !json_is_object(value) : !json_is_array(value))
		return kp_json_wrong_type(
			diag, path, value, is_map ? KP_JSON_OBJECT : KP_JSON_ARRAY);
	json_object_foreach ((json_t *)(uintptr_t)value, key, item)
		if (check(idl, of, item, join(path, key, whole), diag) < 0)
			return -1;
	for (size_t i = 0; i < json_array_size(value); i++) {
		(void)snprintf(whole, sizeof(whole), "%s[%zu]", path, i);
		if (check(idl, of, json_array_get(value, i), whole, diag) < 0)
			return -1;
	}
	return 0;
}

/* The depth is bounded by that of the interface's types. */
static int check(const struct idl *idl, const json_t *is, const json_t *value,
	const char *path, struct kp_diag *diag)
{
	if (json_is_string(is))
		return check_plain(json_string_value(is), value, path, diag);
	const json_t *known = json_object_get(is, "members");
	if (known)
		return check_members(idl, known, value, path, diag);
	const char *name = kp_json_text(is, "name");
	if (name)
		return check(idl, json_object_get(idl->types, name), value, path, diag);
	const json_t *of = json_object_get(is, "of");
	const char *how = kp_json_text(is, "is");
	assert(how); /* else the interface names a type that it does not have */
	if (strcmp(how, "maybe") == 0)
		return !value || json_is_null(value) ? 0
						     : check(idl, of, value, path, diag);
	return check_each(idl, of, strcmp(how, "map") == 0, value, path, diag);
}

bool idl_has_method(const struct idl *idl, const char *method)
{
	return json_object_get(idl->calls, method) != NULL;
}

int idl_check_call(const struct idl *idl, const char *method, const json_t *parameters,
	struct kp_diag *diag)
{
	return check(idl, json_object_get(idl->calls, method), parameters, "", diag);
}
