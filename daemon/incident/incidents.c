/* SPDX-License-Identifier: MIT */
/*
 * A list in the order of their last time. It is written as a whole, a moment after the
 * first change, so that a hundred crashes in a second are a few writes.
 */
#include "daemon/incident/incidents.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "daemon/daemon.h"
#include "daemon/event.h"
#include "daemon/incident/incidents_file.h"
#include "daemon/incident/strikes.h"
#include "daemon/state/state.h"
#include "lib/base/crowd.h"
#include "lib/base/json.h"
#include "lib/table/table_read.h"

enum { WRITE_MS = 50 };

struct incidents {
	struct daemon *daemon;
	struct incidents_kept kept;
	struct strikes strikes;
	uv_timer_t later;
	bool is_dirty, closing;
};

struct strikes *incidents_strikes(struct incidents *incidents)
{
	return &incidents->strikes;
}

/* ---- the file -------------------------------------------------------------------- */

static void write_now(struct incidents *incidents)
{
	struct kp_diag diag;
	char *text;

	if (!incidents->is_dirty || !incidents->daemon->state)
		return;
	text = incidents_print(&incidents->kept, &incidents->strikes);
	if (!text) {
		kp_diag_no_memory(&diag);
		log_diag(&incidents->daemon->log, LOG_ERROR, &diag);
		return;
	}
	incidents->is_dirty = false;
	state_keep_incidents(incidents->daemon->state, text, strlen(text));
}

static void on_later(uv_timer_t *timer)
{
	write_now(timer->data);
}

void incidents_changed(struct incidents *incidents)
{
	incidents->is_dirty = true;
	if (!incidents->closing && !uv_is_active((uv_handle_t *)&incidents->later))
		(void)uv_timer_start(&incidents->later, on_later, WRITE_MS, 0);
}

void incidents_load(struct incidents *incidents, struct kp_diags *warnings)
{
	struct state *state = incidents->daemon->state;
	size_t size = 0;
	struct kp_diag diag;
	char *text = state_incidents(state, &size, warnings);

	if (text && incidents_parse(text, size, "incidents.json", &incidents->kept,
			    &incidents->strikes, &diag) < 0)
		state_incidents_are_damaged(state, &diag, warnings);
	free(text);
}

/* ---- life ------------------------------------------------------------------------ */

struct incidents *incidents_new(struct daemon *daemon)
{
	struct incidents *new = calloc(1, sizeof(*new));

	if (!new)
		return NULL;
	new->daemon = daemon;
	new->kept = (struct incidents_kept){1, json_array()};
	(void)uv_timer_init(&daemon->loop, &new->later);
	new->later.data = new;
	if (new->kept.list)
		return new;
	new->closing = true;
	uv_close((uv_handle_t *)&new->later, NULL);
	return new;
}

void incidents_close(struct incidents *incidents)
{
	if (!incidents || incidents->closing)
		return;
	incidents->closing = true;
	write_now(incidents);
	uv_close((uv_handle_t *)&incidents->later, NULL);
}

void incidents_free(struct incidents *incidents)
{
	if (!incidents)
		return;
	json_decref(incidents->kept.list);
	strikes_finish(&incidents->strikes);
	free(incidents);
}

/* ---- adding ---------------------------------------------------------------------- */

static bool is_same_text(const json_t *a, const json_t *b, const char *key)
{
	return json_equal(json_object_get(a, key), json_object_get(b, key));
}

/* The number in the list of one like this that was a moment ago, or SIZE_MAX. */
static size_t find_same(const json_t *list, const json_t *incident)
{
	static const char *const keys[] = {"kind", "kernel", "sha256", "application",
		"uid", "signal", "label", "text"};
	json_int_t now = json_integer_value(json_object_get(incident, "at"));

	for (size_t i = json_array_size(list); i-- > 0;) {
		const json_t *other = json_array_get(list, i);
		size_t same = 0;
		if (json_integer_value(json_object_get(other, "at")) <
			now - INCIDENTS_SAME_S)
			break;
		while (same < sizeof(keys) / sizeof(keys[0]) &&
			is_same_text(other, incident, keys[same]))
			same++;
		if (same == sizeof(keys) / sizeof(keys[0]))
			return i;
	}
	return SIZE_MAX;
}

/* It becomes the latest. Returns its number. */
static int64_t count_more(json_t *list, size_t i, const json_t *incident)
{
	json_t *same = json_incref(json_array_get(list, i));
	json_int_t count = json_integer_value(json_object_get(same, "count"));

	(void)json_object_set(same, "at", json_object_get(incident, "at"));
	(void)json_object_set(same, "pid", json_object_get(incident, "pid"));
	(void)json_object_set(same, "evidence", json_object_get(incident, "evidence"));
	(void)json_object_set_new(same, "count", json_integer(count + 1));
	(void)json_array_remove(list, i);
	(void)json_array_append(list, same);
	int64_t id = json_integer_value(json_object_get(same, "id"));
	json_decref(same);
	return id;
}

static json_int_t uid_of(const json_t *incident)
{
	return json_integer_value(json_object_get(incident, "uid"));
}

static bool is_operators(const json_t *incident)
{
	return json_is_true(json_object_get(incident, "operator"));
}

/* What concerns the machine does not give way to what users tell; of them who has most.
 */
static size_t find_crowd(const json_t *list)
{
	int64_t uids[INCIDENTS_MOST];
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(list) && n < INCIDENTS_MOST; i++)
		if (!is_operators(json_array_get(list, i)))
			uids[n++] = (int64_t)uid_of(json_array_get(list, i));
	int64_t crowd = n ? kp_crowd_of(uids, n) : 0;
	for (size_t i = 0; n && i < json_array_size(list); i++)
		if (!is_operators(json_array_get(list, i)) &&
			uid_of(json_array_get(list, i)) == (json_int_t)crowd)
			return i;
	return 0;
}

static void make_way(json_t *list, json_int_t uid)
{
	size_t own = 0, first = 0;

	for (size_t i = json_array_size(list); i-- > 0;)
		if (uid_of(json_array_get(list, i)) == uid) {
			own++;
			first = i;
		}
	if (own >= INCIDENTS_OF_USER)
		(void)json_array_remove(list, first);
	else if (json_array_size(list) >= INCIDENTS_MOST)
		(void)json_array_remove(list, find_crowd(list));
}

/* A text that was made safe and cut, or null. */
static json_t *short_text(const char *text, size_t most)
{
	char *cut = text && *text ? strndup(text, most) : NULL;
	json_t *value = cut ? kp_json_clean_string(cut) : json_null();

	free(cut);
	return value;
}

static json_t *evidence_of(const struct incident *incident)
{
	if (!json_is_object(incident->evidence) ||
		json_dumpb(incident->evidence, NULL, 0, JSON_COMPACT) > INCIDENT_EVIDENCE)
		return json_null();
	return json_deep_copy(incident->evidence);
}

const char *incidents_digest(struct daemon *daemon, const char *kernel)
{
	const struct kp_table *table = daemon_table(daemon);
	const char *slash = kernel ? strchr(kernel, '/') : NULL;
	char *plugin = slash ? strndup(kernel, (size_t)(slash - kernel)) : NULL;
	size_t i = plugin ? kp_table_plugin(table, plugin) : SIZE_MAX;

	free(plugin);
	if (i == SIZE_MAX)
		return "";
	const char *digest = kp_table_text(
		table, kp_load32(kp_table_record(table, KP_SECTION_PLUGINS, i) +
				 KP_PLUGIN_DIGEST));
	return digest ? digest : "";
}

static json_t *make(struct daemon *daemon, const struct incident *from, int64_t id)
{
	const char *slash = from->kernel ? strchr(from->kernel, '/') : NULL;
	char *plugin =
		slash ? strndup(from->kernel, (size_t)(slash - from->kernel)) : NULL;
	json_int_t now = (json_int_t)daemon_now();
	json_t *made = json_pack(
		"{s:I, s:s, s:I, s:I, s:i, s:o, s:o, s:o, s:o, s:I, s:I, "
		"s:o, s:o, s:o, s:o, s:b}",
		"id", (json_int_t)id, "kind", from->kind, "at", now, "first", now,
		"count", 1, "kernel", kp_json_clean_or_null(from->kernel), "plugin",
		kp_json_clean_or_null(plugin), "sha256",
		kp_json_clean_or_null(incidents_digest(daemon, from->kernel)),
		"application", short_text(from->application, INCIDENT_NAME), "pid",
		(json_int_t)from->pid, "uid", (json_int_t)from->uid, "signal",
		kp_json_clean_or_null(from->signal), "label",
		short_text(from->label, INCIDENT_LABEL), "text",
		short_text(from->text && *from->text ? from->text : "nothing was said",
			INCIDENT_TEXT),
		"evidence", evidence_of(from), "operator", from->is_operator);

	free(plugin);
	return made;
}

static void tell(struct daemon *daemon, const struct incident *incident, bool is_new)
{
	const char *what = incident->kernel ? incident->kernel : incident->application;

	log_line(&daemon->log, is_new ? LOG_WARNING : LOG_DEBUG,
		"%s: %s in %s (pid %d, uid %u): %s", what ? what : "?", incident->kind,
		incident->application ? incident->application : "an application",
		(int)incident->pid, incident->uid, incident->text);
	if (is_new && incident->is_operator)
		event_note(daemon, "incident", incident->kernel, incident->kind,
			incident->text);
}

int64_t incidents_add(struct incidents *incidents, const struct incident *incident)
{
	json_t *list = incidents->kept.list;
	json_t *made = make(incidents->daemon, incident, incidents->kept.next);
	int64_t id = 0;

	if (!made)
		return 0;
	size_t same = find_same(list, made);
	if (same != SIZE_MAX) {
		id = count_more(list, same, made);
		json_decref(made);
	} else {
		make_way(list, (json_int_t)incident->uid);
		if (json_array_append_new(list, made) == 0)
			id = incidents->kept.next++;
	}
	tell(incidents->daemon, incident, same == SIZE_MAX);
	tally_add(&incidents->daemon->tallies.incidents, incident->kind);
	incidents_changed(incidents);
	return id;
}

/* ---- asking ---------------------------------------------------------------------- */

static bool is_text(const json_t *incident, const char *key, const char *wanted)
{
	const char *text = kp_json_text(incident, key);
	return !wanted || (text && strcmp(text, wanted) == 0);
}

static bool is_asked_for(
	const json_t *incident, const struct incidents_question *question)
{
	if (!question->is_operator && uid_of(incident) != (json_int_t)question->uid &&
		!(json_is_true(json_object_get(incident, "operator")) &&
			is_text(incident, "kind", "crash")))
		return false;
	return (!question->id || json_integer_value(json_object_get(incident, "id")) ==
					 question->id) &&
	       json_integer_value(json_object_get(incident, "at")) >= question->since &&
	       is_text(incident, "kind", question->kind) &&
	       (!question->name || is_text(incident, "kernel", question->name) ||
		       is_text(incident, "plugin", question->name));
}

/* Of another user's, what concerns the machine: not what that user ran. */
static json_t *shown(const json_t *incident, const struct incidents_question *question)
{
	static const char *const own[] = {"application", "label", "evidence"};
	json_t *copy = json_copy((json_t *)(uintptr_t)incident);

	if (copy && !question->is_operator &&
		uid_of(incident) != (json_int_t)question->uid)
		for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
			(void)json_object_set_new(copy, own[i], json_null());
	return copy;
}

json_t *incidents_json(const struct incidents *incidents,
	const struct incidents_question *question, int64_t *total)
{
	json_t *list = json_array();
	int64_t n = 0;

	for (size_t i = json_array_size(incidents->kept.list); i-- > 0;) {
		const json_t *incident = json_array_get(incidents->kept.list, i);
		if (!is_asked_for(incident, question))
			continue;
		n++;
		if (!question->limit || n <= question->limit)
			list = kp_json_append(list, shown(incident, question));
	}
	*total = n;
	return list;
}
