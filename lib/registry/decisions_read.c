/* SPDX-License-Identifier: MIT */
/* Decisions from the text of a file: all that is right of it. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/versioned.h"
#include "lib/registry/decisions.h"
#include "lib/registry/decisions_sum.h"

enum { PATH_BYTES = 64 };

static const struct kp_json_key root_keys[] = {
	{"format", KP_JSON_STRING, true},
	{"disabled", KP_JSON_ARRAY, true},
	{"pins", KP_JSON_ARRAY, true},
	{"enabled", KP_JSON_ARRAY, true},
	{"solutions", KP_JSON_ARRAY, false},
	{"guards", KP_JSON_ARRAY, false},
	{"quarantined", KP_JSON_ARRAY, false},
	{"rollbacks", KP_JSON_ARRAY, false},
	{"sum", KP_JSON_STRING, false},
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
	{"force", KP_JSON_BOOLEAN, false},
};
static const struct kp_json_key rule_keys[] = {
	{"operation", KP_JSON_STRING, true},
	{"solution", KP_JSON_STRING, true},
	{"reason", KP_JSON_STRING, true},
	{"at", KP_JSON_INTEGER, true},
	{"uid", KP_JSON_INTEGER, true},
};
static const struct kp_json_key quarantine_keys[] = {
	{"kernel", KP_JSON_STRING, true},
	{"digest", KP_JSON_STRING, true},
	{"uid", KP_JSON_INTEGER, true},
	{"at", KP_JSON_INTEGER, true},
	{"incident", KP_JSON_INTEGER, true},
	{"strikes", KP_JSON_INTEGER, true},
};

static const struct kp_json_key rollback_keys[] = {
	{"plugin", KP_JSON_STRING, true},
	{"closure", KP_JSON_STRING, true},
	{"entry", KP_JSON_STRING, true},
	{"digest", KP_JSON_STRING, true},
	{"reason", KP_JSON_STRING, true},
	{"number", KP_JSON_INTEGER, true},
	{"at", KP_JSON_INTEGER, true},
	{"uid", KP_JSON_INTEGER, true},
};
static const struct kp_json_key guard_keys[] = {
	{"operation", KP_JSON_STRING, true},
	{"every", KP_JSON_INTEGER, true},
	{"at", KP_JSON_INTEGER, true},
	{"uid", KP_JSON_INTEGER, true},
};

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

	if (kp_json_check(
		    item, path, disabled_keys, KP_COUNT(disabled_keys), NULL, diag) < 0 ||
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

	if (kp_json_check(item, path, pin_keys, KP_COUNT(pin_keys), NULL, diag) < 0 ||
		read_uid(item, path, &uid, diag) < 0)
		return -1;
	if (kp_decisions_pin(decisions, kp_json_text(item, "operation"),
		    kp_json_text(item, "choice"),
		    json_is_true(json_object_get(item, "force")),
		    json_integer_value(json_object_get(item, "at")), uid, &changed) < 0)
		return kp_diag_no_memory(diag);
	if (decisions->n_pins == before)
		return repeated(path, kp_json_text(item, "operation"), diag);
	return 0;
}

static int read_rule(const json_t *item, const char *path, struct kp_decisions *decisions,
	struct kp_diag *diag)
{
	uint32_t uid = 0;
	bool changed;
	size_t before = decisions->n_rules;

	if (kp_json_check(item, path, rule_keys, KP_COUNT(rule_keys), NULL, diag) < 0 ||
		read_uid(item, path, &uid, diag) < 0)
		return -1;
	if (kp_decisions_rule(decisions, kp_json_text(item, "operation"),
		    kp_json_text(item, "solution"), kp_json_text(item, "reason"),
		    json_integer_value(json_object_get(item, "at")), uid, false,
		    &changed) < 0)
		return kp_diag_no_memory(diag);
	if (decisions->n_rules == before)
		return repeated(path, kp_json_text(item, "solution"), diag);
	return 0;
}

static int read_guard(const json_t *item, const char *path,
	struct kp_decisions *decisions, struct kp_diag *diag)
{
	json_int_t every = json_integer_value(json_object_get(item, "every"));
	uint32_t uid = 0;
	bool changed;
	size_t before = decisions->n_guards;

	if (kp_json_check(item, path, guard_keys, KP_COUNT(guard_keys), NULL, diag) < 0 ||
		read_uid(item, path, &uid, diag) < 0)
		return -1;
	if (every < 1 || every > UINT32_MAX)
		return kp_diag_set(diag, "bad_decisions", path,
			"%s: one call in %lld cannot be compared", path,
			(long long)every);
	if (kp_decisions_guard(decisions, kp_json_text(item, "operation"),
		    (uint32_t)every, json_integer_value(json_object_get(item, "at")), uid,
		    &changed) < 0)
		return kp_diag_no_memory(diag);
	if (decisions->n_guards == before)
		return repeated(path, kp_json_text(item, "operation"), diag);
	return 0;
}

static int64_t number(const json_t *item, const char *key)
{
	return json_integer_value(json_object_get(item, key));
}

static int read_quarantine(const json_t *item, const char *path,
	struct kp_decisions *decisions, struct kp_diag *diag)
{
	size_t before = decisions->n_quarantined;

	if (kp_json_check(item, path, quarantine_keys, KP_COUNT(quarantine_keys), NULL,
		    diag) < 0)
		return -1;
	const char *kernel = kp_json_text(item, "kernel");
	int64_t strikes = number(item, "strikes"), who = number(item, "uid");
	if (!strchr(kernel, '/') || strikes < 0 || strikes > UINT32_MAX ||
		who < KP_QUARANTINE_ALL || who > UINT32_MAX)
		return kp_diag_set(diag, "bad_decisions", path,
			"%s: no kernel, or a number that is none of a user or of strikes",
			path);
	const struct kp_quarantine read = {.kernel = (char *)(uintptr_t)kernel,
		.digest = (char *)(uintptr_t)kp_json_text(item, "digest"),
		.who = who,
		.at = number(item, "at"),
		.incident = number(item, "incident"),
		.strikes = (uint32_t)strikes};
	if (kp_decisions_quarantine(decisions, &read) < 0)
		return kp_diag_no_memory(diag);
	if (decisions->n_quarantined == before)
		return repeated(path, kernel, diag);
	return 0;
}

static bool is_digest(const char *text)
{
	return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

/* It becomes a path below the store, and must not lead out of it. */
static bool stays_inside(const char *entry)
{
	if (!entry[0] || entry[0] == '/' || strlen(entry) >= PATH_MAX)
		return false;
	for (const char *at = entry; *at; at += strspn(at, "/")) {
		size_t length = strcspn(at, "/");
		if (length == 2 && at[0] == '.' && at[1] == '.')
			return false;
		at += length;
	}
	return true;
}

static int read_rollback(const json_t *item, const char *path,
	struct kp_decisions *decisions, struct kp_diag *diag)
{
	struct kp_rollback read = {
		.number = number(item, "number"), .at = number(item, "at")};
	size_t before = decisions->n_rollbacks;
	bool changed;

	if (kp_json_check(
		    item, path, rollback_keys, KP_COUNT(rollback_keys), NULL, diag) < 0 ||
		read_uid(item, path, &read.uid, diag) < 0)
		return -1;
	read.plugin = (char *)(uintptr_t)kp_json_text(item, "plugin");
	read.closure = (char *)(uintptr_t)kp_json_text(item, "closure");
	read.entry = (char *)(uintptr_t)kp_json_text(item, "entry");
	read.digest = (char *)(uintptr_t)kp_json_text(item, "digest");
	read.reason = (char *)(uintptr_t)kp_json_text(item, "reason");
	if (!is_digest(read.closure) || !is_digest(read.digest) ||
		!stays_inside(read.entry))
		return kp_diag_set(diag, "bad_decisions", path,
			"%s: no digest, or no path inside of the store", path);
	if (kp_decisions_roll_back(decisions, &read, &changed) < 0)
		return kp_diag_no_memory(diag);
	if (decisions->n_rollbacks == before)
		return repeated(path, read.plugin, diag);
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
	{"solutions", read_rule},
	{"guards", read_guard},
	{"quarantined", read_quarantine},
	{"rollbacks", read_rollback},
};

/* What is wrong is told with its place, and left out. */
struct reader {
	const char *text;
	size_t size;
	const char *path;
	struct kp_decisions *decisions;
	struct kp_diags *wrong;
};

/* -1: memory, which is no fault of the file. */
static int leave_out(struct reader *reader, struct kp_diag *why)
{
	if (strcmp(why->code, "no_memory") == 0)
		return -1;
	why->code = "bad_decisions";
	kp_json_place(why, reader->text, reader->size, reader->path);
	kp_diags_add(reader->wrong, why);
	return 0;
}

/* What is written is cleaned first: other bytes are nobody's name, and would be one
 * later. */
static int check_name(const json_t *name, const char *path, struct kp_diag *diag)
{
	if (!json_is_string(name))
		return 0;
	json_t *clean = kp_json_clean_string(json_string_value(name));
	if (!clean)
		return kp_diag_no_memory(diag);
	int result = json_equal(clean, name)
			     ? 0
			     : kp_diag_set(diag, "bad_decisions", path,
				       "%s: %s has bytes that no name has", path,
				       json_string_value(clean));
	json_decref(clean);
	return result;
}

static int check_names(const json_t *item, const char *path, struct kp_diag *diag)
{
	const char *key;
	json_t *value;

	if (!json_is_object(item))
		return check_name(item, path, diag);
	json_object_foreach ((json_t *)(uintptr_t)item, key, value)
		if (strcmp(key, "reason") != 0 && check_name(value, path, diag) < 0)
			return -1;
	return 0;
}

static int read_list(struct reader *reader, const json_t *list, size_t which)
{
	char path[PATH_BYTES];
	struct kp_diag why;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		(void)snprintf(path, sizeof(path), "%s[%zu]", lists[which].key, i);
		if ((check_names(item, path, &why) < 0 ||
			    lists[which].read(item, path, reader->decisions, &why) < 0) &&
			leave_out(reader, &why) < 0)
			return -1;
	}
	return 0;
}

/* Only what is no list of decisions at all, or a newer one, is refused as a whole. */
static int read_root(struct reader *reader, const json_t *root, struct kp_diag *diag)
{
	struct kp_diag why;

	/* Its version is looked at first: a newer text may well have other keys. */
	if (kp_versioned_check(root, KP_DECISIONS_FORMAT, "bad_decisions", diag) < 0) {
		kp_json_place(diag, reader->text, reader->size, reader->path);
		return -1;
	}
	if (kp_json_check(root, "", root_keys, KP_COUNT(root_keys), NULL, &why) < 0 &&
		leave_out(reader, &why) < 0)
		return kp_diag_no_memory(diag);
	int whole = kp_decisions_is_whole(root);
	if (whole < 0)
		return kp_diag_no_memory(diag);
	if (!whole) {
		kp_diag_set(&why, "bad_decisions", "sum",
			"sum: it is not that of the decisions: one of them may have been "
			"another");
		if (leave_out(reader, &why) < 0)
			return kp_diag_no_memory(diag);
	}
	for (size_t l = 0; l < KP_COUNT(lists); l++)
		if (read_list(reader, json_object_get(root, lists[l].key), l) < 0)
			return kp_diag_no_memory(diag);
	return 0;
}

int kp_decisions_read(const char *text, size_t size, const char *path,
	struct kp_decisions *decisions, struct kp_diags *wrong, struct kp_diag *diag)
{
	struct kp_decisions made = {0};
	struct reader reader = {text, size, path, &made, wrong};
	json_t *root;

	if (kp_json_parse(text, size, path, &root, diag) < 0)
		return -1;
	int result = read_root(&reader, root, diag);
	json_decref(root);
	if (result < 0)
		kp_decisions_finish(&made);
	else
		*decisions = made;
	return result;
}

int kp_decisions_parse(const char *text, size_t size, const char *path,
	struct kp_decisions *decisions, struct kp_diag *diag)
{
	struct kp_decisions made;
	struct kp_diags wrong = {0};
	int result = kp_decisions_read(text, size, path, &made, &wrong, diag);

	if (result == 0 && wrong.count > 0) {
		kp_decisions_finish(&made);
		if (diag)
			*diag = wrong.items[0];
		result = -1;
	}
	kp_diags_finish(&wrong);
	if (result == 0)
		*decisions = made;
	return result;
}
