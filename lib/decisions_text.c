/* SPDX-License-Identifier: MIT */
/* Decisions as the text of a file and back. */
#include "lib/decisions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"

enum { FORMAT = 1, PATH_BYTES = 64 };
static const char format_prefix[] = "kplug-decisions/";

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- printing --------------------------------------------------------------- */

static json_t *disabled_json(const struct kp_decisions *decisions)
{
	json_t *list = json_array();
	for (size_t i = 0; i < decisions->n_disabled; i++) {
		const struct kp_disabled *item = &decisions->disabled[i];
		if (item->runtime)
			continue;
		list = kp_json_append(
			list, json_pack("{s:o, s:o, s:I, s:I, s:s*, s:s*}", "name",
				      kp_json_clean_string(item->name), "reason",
				      kp_json_clean_string(item->reason), "at",
				      (json_int_t)item->at, "uid", (json_int_t)item->uid,
				      "digest", item->digest, "package", item->package));
	}
	return list;
}

static json_t *pins_json(const struct kp_decisions *decisions)
{
	json_t *list = json_array();
	for (size_t i = 0; i < decisions->n_pins; i++) {
		const struct kp_pin *item = &decisions->pins[i];
		list = kp_json_append(list,
			json_pack("{s:o, s:o, s:I, s:I}", "operation",
				kp_json_clean_string(item->operation), "choice",
				kp_json_clean_string(item->choice), "at",
				(json_int_t)item->at, "uid", (json_int_t)item->uid));
	}
	return list;
}

static json_t *enabled_json(const struct kp_decisions *decisions)
{
	json_t *list = json_array();
	for (size_t i = 0; i < decisions->n_enabled; i++)
		list = kp_json_append(list, kp_json_clean_string(decisions->enabled[i]));
	return list;
}

char *kp_decisions_print(const struct kp_decisions *decisions)
{
	char format[sizeof(format_prefix) + 12];
	(void)snprintf(format, sizeof(format), "%s%d", format_prefix, FORMAT);
	json_t *root = json_pack("{s:s, s:o, s:o, s:o}", "format", format, "disabled",
		disabled_json(decisions), "pins", pins_json(decisions), "enabled",
		enabled_json(decisions));
	if (!root)
		return NULL;
	char *text = json_dumps(root, JSON_INDENT(1));
	json_decref(root);
	return text;
}

/* ---- reading ---------------------------------------------------------------- */

static const struct kp_json_key root_keys[] = {
	{"format", KP_JSON_STRING, true},
	{"disabled", KP_JSON_ARRAY, true},
	{"pins", KP_JSON_ARRAY, true},
	{"enabled", KP_JSON_ARRAY, true},
};
static const struct kp_json_key disabled_keys[] = {
	{"name", KP_JSON_STRING, true},
	{"reason", KP_JSON_STRING, true},
	{"at", KP_JSON_INTEGER, true},
	{"uid", KP_JSON_INTEGER, true},
	{"digest", KP_JSON_STRING, false},
	{"package", KP_JSON_STRING, false},
};
static const struct kp_json_key pin_keys[] = {
	{"operation", KP_JSON_STRING, true},
	{"choice", KP_JSON_STRING, true},
	{"at", KP_JSON_INTEGER, true},
	{"uid", KP_JSON_INTEGER, true},
};

/* Its version is looked at first: a newer text may well have other keys. */
static int check_format(const json_t *root, struct kp_diag *diag)
{
	const char *format = kp_json_text(root, "format");
	size_t length = sizeof(format_prefix) - 1;
	char *end = NULL;

	if (!json_is_object(root) || !format)
		return kp_diag_set(diag, "bad_decisions", "format",
			"format: %s%d expected, the key is missing or no text",
			format_prefix, FORMAT);
	long version = strncmp(format, format_prefix, length) == 0
			       ? strtol(format + length, &end, 10)
			       : 0;
	if (!end || *end || version < 1)
		return kp_diag_set(diag, "bad_decisions", "format",
			"format: %s%d expected, not %s", format_prefix, FORMAT, format);
	if (version > FORMAT)
		return kp_diag_set(diag, "newer_format", "format",
			"the file has format %s, this kplug reads up to %s%d: use a "
			"newer "
			"kplug, or set the file aside",
			format, format_prefix, FORMAT);
	return 0;
}

static int read_uid(
	const json_t *item, const char *path, uint32_t *uid, struct kp_diag *diag)
{
	json_int_t value = json_integer_value(json_object_get(item, "uid"));
	if (value < 0 || value > UINT32_MAX)
		return kp_diag_set(diag, "bad_decisions", path,
			"%s: %lld is no number of a user", path, (long long)value);
	*uid = (uint32_t)value;
	return 0;
}

static int repeated(const char *path, const char *name, struct kp_diag *diag)
{
	return kp_diag_set(
		diag, "bad_decisions", path, "%s: %s is there twice", path, name);
}

static int read_disabled(const json_t *item, const char *path,
	struct kp_decisions *decisions, struct kp_diag *diag)
{
	uint32_t uid = 0;
	bool changed;

	if (kp_json_check(item, path, disabled_keys, COUNT(disabled_keys), NULL, diag) <
			0 ||
		read_uid(item, path, &uid, diag) < 0)
		return -1;
	const char *name = kp_json_text(item, "name");
	if (kp_decisions_find(decisions, name))
		return repeated(path, name, diag);
	if (kp_decisions_disable(decisions, name, kp_json_text(item, "reason"),
		    json_integer_value(json_object_get(item, "at")), uid, false,
		    &changed) < 0)
		return kp_diag_no_memory(diag);
	if (kp_decisions_identify(decisions, name, kp_json_text(item, "digest"),
		    kp_json_text(item, "package"), &changed) < 0)
		return kp_diag_no_memory(diag);
	return 0;
}

static int read_pin(const json_t *item, const char *path, struct kp_decisions *decisions,
	struct kp_diag *diag)
{
	uint32_t uid = 0;
	bool changed;
	size_t before = decisions->n_pins;

	if (kp_json_check(item, path, pin_keys, COUNT(pin_keys), NULL, diag) < 0 ||
		read_uid(item, path, &uid, diag) < 0)
		return -1;
	if (kp_decisions_pin(decisions, kp_json_text(item, "operation"),
		    kp_json_text(item, "choice"),
		    json_integer_value(json_object_get(item, "at")), uid, &changed) < 0)
		return kp_diag_no_memory(diag);
	if (decisions->n_pins == before)
		return repeated(path, kp_json_text(item, "operation"), diag);
	return 0;
}

static int read_enabled(const json_t *item, const char *path,
	struct kp_decisions *decisions, struct kp_diag *diag)
{
	bool changed;
	if (!json_is_string(item))
		return kp_json_wrong_type(diag, path, item, KP_JSON_STRING);
	if (kp_decisions_prove(decisions, json_string_value(item), true, &changed) < 0)
		return kp_diag_no_memory(diag);
	return changed ? 0 : repeated(path, json_string_value(item), diag);
}

static const struct {
	const char *key;
	int (*read)(const json_t *item, const char *path, struct kp_decisions *decisions,
		struct kp_diag *diag);
} lists[] = {
	{"disabled", read_disabled},
	{"pins", read_pin},
	{"enabled", read_enabled},
};

static int read_root(
	const json_t *root, struct kp_decisions *decisions, struct kp_diag *diag)
{
	char path[PATH_BYTES];

	if (check_format(root, diag) < 0 ||
		kp_json_check(root, "", root_keys, COUNT(root_keys), NULL, diag) < 0)
		return -1;
	for (size_t l = 0; l < COUNT(lists); l++) {
		const json_t *list = json_object_get(root, lists[l].key);
		for (size_t i = 0; i < json_array_size(list); i++) {
			(void)snprintf(path, sizeof(path), "%s[%zu]", lists[l].key, i);
			if (lists[l].read(
				    json_array_get(list, i), path, decisions, diag) < 0)
				return -1;
		}
	}
	return 0;
}

int kp_decisions_parse(const char *text, size_t size, const char *path,
	struct kp_decisions *decisions, struct kp_diag *diag)
{
	struct kp_decisions made = {0};
	struct kp_diag why = {0};
	json_t *root;

	if (kp_json_parse(text, size, path, &root, diag) < 0)
		return -1;
	int rc = read_root(root, &made, &why);
	json_decref(root);
	if (rc == 0) {
		*decisions = made;
		return 0;
	}
	kp_decisions_finish(&made);
	if (strcmp(why.code, "no_memory") != 0 && strcmp(why.code, "newer_format") != 0)
		why.code = "bad_decisions";
	if (diag)
		*diag = why;
	return kp_json_place(diag, text, size, path);
}
