/* SPDX-License-Identifier: MIT */
/* Marks of probes: a list, one JSON text with a sum, and what they say to people. */
#include "daemon/pipeline/mark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/base/versioned.h"
#include "lib/base/text.h"
#include "lib/registry/decisions_sum.h"

static const char *const states[] = {"probing", "suspect", "alone", "quarantined"};

static const struct kp_json_key root_keys[] = {
	{"format", KP_JSON_STRING, true},
	{"boot", KP_JSON_STRING, true},
	{"probes", KP_JSON_ARRAY, true},
	{"sum", KP_JSON_STRING, true},
};
static const struct kp_json_key mark_keys[] = {
	{"plugin", KP_JSON_STRING, true},
	{"state", KP_JSON_STRING, true},
	{"key", KP_JSON_STRING, true},
	{"sha256", KP_JSON_STRING, true},
	{"strikes", KP_JSON_INTEGER, true},
	{"at", KP_JSON_INTEGER, true},
	{"machine", KP_JSON_BOOLEAN, true},
	{"stage", KP_JSON_STRING, true},
	{"output", KP_JSON_STRING | KP_JSON_NULL, true},
};

/* ---- the list ------------------------------------------------------------------ */

static void mark_free(struct mark *mark)
{
	free(mark->plugin);
	free(mark->output);
	free(mark);
}

struct mark *marks_find(struct marks *marks, const char *key)
{
	struct mark *mark;

	TAILQ_FOREACH (mark, marks, link)
		if (strcmp(mark->key, key) == 0)
			return mark;
	return NULL;
}

/* The oldest that nobody works on gives way where there are too many. */
static void make_room(struct marks *marks)
{
	struct mark *mark, *oldest = NULL;
	size_t count = 0;

	TAILQ_FOREACH (mark, marks, link) {
		count++;
		if (!oldest && mark->users == 0)
			oldest = mark;
	}
	if (count >= MARKS_MOST && oldest)
		marks_remove(marks, oldest);
}

struct mark *marks_add(struct marks *marks, const char *key, const char *plugin)
{
	struct mark *mark = calloc(1, sizeof(*mark));

	if (!mark || !(mark->plugin = strdup(plugin))) {
		free(mark);
		return NULL;
	}
	make_room(marks);
	(void)snprintf(mark->key, sizeof(mark->key), "%s", key);
	TAILQ_INSERT_TAIL(marks, mark, link);
	return mark;
}

void marks_remove(struct marks *marks, struct mark *mark)
{
	TAILQ_REMOVE(marks, mark, link);
	mark_free(mark);
}

void marks_finish(struct marks *marks)
{
	struct mark *next;

	for (struct mark *mark = TAILQ_FIRST(marks); mark; mark = next) {
		next = TAILQ_NEXT(mark, link);
		mark_free(mark);
	}
	TAILQ_INIT(marks);
}

static bool note_stage(struct mark *mark, const char *stage)
{
	char clean[sizeof(mark->stage)];

	(void)kp_text_clean(stage, clean, sizeof(clean));
	if (strcmp(clean, mark->stage) == 0)
		return false;
	memcpy(mark->stage, clean, sizeof(clean));
	return true;
}

static bool note_output(struct mark *mark, const char *output)
{
	size_t length = strlen(output);
	const char *end = output + (length > MARK_OUTPUT ? length - MARK_OUTPUT : 0);

	while (((unsigned char)*end & 0xc0) == 0x80)
		end++;
	char *copy =
		strcmp(mark->output ? mark->output : "", end) == 0 ? NULL : strdup(end);
	if (!copy)
		return false;
	free(mark->output);
	mark->output = copy;
	return true;
}

bool mark_note(struct mark *mark, const char *stage, const char *output)
{
	bool changed = stage && note_stage(mark, stage);

	return (output && note_output(mark, output)) || changed;
}

/* ---- to JSON ------------------------------------------------------------------- */

static json_t *mark_json(const struct mark *mark, enum mark_state state)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:i, s:I, s:b, s:o, s:o}", "plugin",
		mark->plugin, "state", states[state], "key", mark->key, "sha256",
		mark->digest, "strikes", (int)mark->strikes, "at", (json_int_t)mark->at,
		"machine", mark->machine, "stage", kp_json_clean_string(mark->stage),
		"output", kp_json_clean_or_null(mark->output));
}

/* NULL: memory. */
static json_t *list_json(const struct marks *marks, bool at_rest)
{
	const struct mark *mark;
	json_t *list = json_array();

	TAILQ_FOREACH (mark, marks, link) {
		bool is_alone = mark->state == MARK_ALONE;
		if (!list || (at_rest && mark->state == MARK_PROBING))
			continue;
		list = kp_json_append(
			list, mark_json(mark,
				      at_rest && is_alone ? MARK_SUSPECT : mark->state));
	}
	return list;
}

char *marks_print(const struct marks *marks, const char *boot, bool at_rest)
{
	json_t *list = list_json(marks, at_rest);
	owned_json *root = json_pack(
		"{s:s, s:s, s:o}", "format", MARKS_FORMAT, "boot", boot, "probes", list);
	return root && kp_decisions_seal(root) == 0 ? kp_json_dumps(root, JSON_INDENT(1))
						    : NULL;
}

/* ---- from JSON ----------------------------------------------------------------- */

static int bad(struct kp_diag *diag, const char *object, const char *message)
{
	return kp_diag_set(diag, "bad_marks", object, "%s: %s", object, message);
}

static int check(const json_t *root, struct kp_diag *diag)
{
	if (kp_versioned_check(root, MARKS_FORMAT, "bad_marks", diag) < 0 ||
		kp_json_check(root, "", root_keys, KP_COUNT(root_keys), NULL, diag) < 0)
		return -1;
	int whole = kp_decisions_is_whole(root);
	if (whole < 0)
		return kp_diag_no_memory(diag);
	if (!whole)
		return bad(diag, "sum", "it is not that of the rest");
	if (json_array_size(json_object_get(root, "probes")) > MARKS_MOST)
		return bad(diag, "probes", "there are too many");
	return 0;
}

static int state_of(const char *name)
{
	for (size_t i = 0; i < KP_COUNT(states); i++)
		if (strcmp(states[i], name) == 0)
			return (int)i;
	return -1;
}

static bool is_hash(const char *text)
{
	return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static int fill(struct mark *mark, const json_t *item, struct kp_diag *diag)
{
	json_int_t strikes = json_integer_value(json_object_get(item, "strikes"));
	int state = state_of(kp_json_text(item, "state"));
	const char *output = kp_json_text(item, "output");

	if (state < 0 || strikes < 0 || strikes > MARK_STRIKES ||
		!is_hash(kp_json_text(item, "sha256")))
		return bad(diag, "probes", "a mark that no plugind makes");
	mark->state = (enum mark_state)state;
	mark->strikes = (unsigned)strikes;
	mark->at = json_integer_value(json_object_get(item, "at"));
	mark->machine = json_is_true(json_object_get(item, "machine"));
	(void)snprintf(
		mark->digest, sizeof(mark->digest), "%s", kp_json_text(item, "sha256"));
	(void)snprintf(
		mark->stage, sizeof(mark->stage), "%s", kp_json_text(item, "stage"));
	mark->output = output ? strndup(output, MARK_OUTPUT) : NULL;
	return output && !mark->output ? kp_diag_no_memory(diag) : 0;
}

/* Who was at work when it ended is suspect, and guilty only when nobody else was. */
static void conclude(struct mark *mark, bool same_boot)
{
	if (mark->state == MARK_ALONE && mark->strikes < MARK_STRIKES)
		mark->strikes++;
	if (mark->state == MARK_ALONE || mark->state == MARK_PROBING) {
		mark->machine = !same_boot;
		mark->state =
			mark->strikes >= MARK_STRIKES ? MARK_QUARANTINED : MARK_SUSPECT;
	}
}

static int read_mark(
	struct marks *marks, const json_t *item, bool same_boot, struct kp_diag *diag)
{
	if (kp_json_check(item, "probes", mark_keys, KP_COUNT(mark_keys), NULL, diag) < 0)
		return -1;
	const char *key = kp_json_text(item, "key");
	if (!is_hash(key) || marks_find(marks, key))
		return bad(diag, "probes", "a key that is none, or is there twice");
	struct mark *mark = marks_add(marks, key, kp_json_text(item, "plugin"));
	if (!mark)
		return kp_diag_no_memory(diag);
	if (fill(mark, item, diag) < 0)
		return -1;
	conclude(mark, same_boot);
	return 0;
}

int marks_read(struct marks *marks, const char *text, size_t size, const char *boot,
	struct kp_diag *diag)
{
	owned_json *root = NULL;
	json_t *item;
	size_t i;

	if (kp_json_parse(text, size, "probes.json", &root, diag) < 0 ||
		check(root, diag) < 0)
		return -1;
	bool same_boot = strcmp(kp_json_text(root, "boot"), boot) == 0;
	json_array_foreach (json_object_get(root, "probes"), i, item) {
		if (read_mark(marks, item, same_boot, diag) < 0) {
			marks_finish(marks);
			return -1;
		}
	}
	return 0;
}

/* ---- what they say --------------------------------------------------------------- */

static const char *what_ended(const struct mark *mark)
{
	return mark->machine ? "the machine went down" : "plugind died";
}

const char *mark_text(const struct mark *mark, char text[MARK_TEXT])
{
	const char *at = mark->stage[0] ? " at the stage " : "";

	if (mark->state == MARK_QUARANTINED)
		(void)snprintf(text, MARK_TEXT,
			"%u times plugind or the machine ended while nothing but this "
			"plugin was probed (the last time %s%s%s); `pluginctl retry %s` "
			"has it probed again, and so does a change of its library or of "
			"what that needs",
			mark->strikes, what_ended(mark), at, mark->stage, mark->plugin);
	else if (mark->strikes > 0)
		(void)snprintf(text, MARK_TEXT,
			"%s while nothing but this plugin was probed%s%s (%u of %d times "
			"that quarantine it): it is probed after all others, alone",
			what_ended(mark), at, mark->stage, mark->strikes, MARK_STRIKES);
	else
		(void)snprintf(text, MARK_TEXT,
			"%s while this plugin was probed, perhaps beside others: it is "
			"probed after all others, alone",
			what_ended(mark));
	return text;
}

json_t *mark_evidence(const struct mark *mark)
{
	return json_pack("{s:o, s:n, s:n, s:n, s:o, s:n, s:s, s:I}", "stage",
		kp_json_clean_string(mark->stage[0] ? mark->stage : "probe"), "exit",
		"signal", "loader", "output", kp_json_clean_or_null(mark->output),
		"backtrace", "sha256", mark->digest, "at", (json_int_t)mark->at);
}
