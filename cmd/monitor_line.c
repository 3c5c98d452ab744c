/* SPDX-License-Identifier: MIT */
/* One line each: time, number, kind, and what its kind makes of it. */
#include "cmd/monitor_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/field.h"

enum { TIME_BYTES = 32 };

static const char *time_of(const json_t *event, char text[TIME_BYTES])
{
	time_t at = (time_t)field_int(event, "at");
	struct tm broken;
	if (!localtime_r(&at, &broken) ||
		strftime(text, TIME_BYTES, "%Y-%m-%d %H:%M:%S", &broken) == 0)
		(void)snprintf(text, TIME_BYTES, "?");
	return text;
}

/* "active -> failed"; for one that is new or has gone, that. */
static char *states_of(const json_t *event)
{
	const char *from = field_text(event, "from", NULL);
	const char *to = field_text(event, "to", NULL);
	char *text = NULL;
	if (from && to)
		return asprintf(&text, "%s -> %s", from, to) < 0 ? NULL : text;
	if (to)
		return asprintf(&text, "new, %s", to) < 0 ? NULL : text;
	return strdup("gone");
}

/* "Pin fast: none -> fast"; what held is not known of a call that was refused early. */
static char *account_of(const json_t *event)
{
	const char *object = field_text(event, "object", NULL);
	const char *from = field_text(event, "from", NULL);
	const char *to = field_text(event, "to", NULL);
	bool is_known = from && to;
	char *text = NULL;
	return asprintf(&text, "%s%s%s%s%s%s%s", field_text(event, "method", "?"),
		       object ? " " : "", object ? object : "", is_known ? ": " : "",
		       is_known ? from : "", is_known ? " -> " : "",
		       is_known ? to : "") < 0
		       ? NULL
		       : text;
}

/* What happened to the object of the event. */
static char *what_of(const json_t *event)
{
	const char *kind = field_text(event, "kind", "?");
	const char *object = field_text(event, "object", NULL);
	char *text = NULL;
	if (strcmp(kind, "state") == 0)
		return states_of(event);
	if (strcmp(kind, "audit") == 0)
		return account_of(event);
	if (strcmp(kind, "generation") == 0)
		return asprintf(&text, "%lld",
			       (long long)field_int(event, "generation")) < 0
			       ? NULL
			       : text;
	/* Of an operation, with a solution: it would read like the reason. */
	if (object && (strcmp(kind, "disable") == 0 || strcmp(kind, "enable") == 0))
		return asprintf(&text, "solution %s", object) < 0 ? NULL : text;
	return strdup(object ? object : "");
}

static enum tone tone_of(const json_t *event)
{
	if (field_is(event, "kind", "damage"))
		return TONE_BAD;
	if (field_is(event, "kind", "audit"))
		return field_text(event, "code", NULL) ? TONE_WARN : TONE_PLAIN;
	return field_is(event, "kind", "state")
		       ? field_state_tone(field_text(event, "to", ""))
		       : TONE_PLAIN;
}

/* " (uid 0)" where a call caused it; who that is, where it is known. */
static char *cause_of(const json_t *event)
{
	const json_t *uid = json_object_get(event, "uid");
	const char *user = field_text(event, "user", NULL);
	long long pid = (long long)field_int(event, "pid");
	char *text = NULL;
	int n;
	if (!json_is_integer(uid))
		return strdup("");
	long long number = (long long)json_integer_value(uid);
	if (pid > 0)
		n = asprintf(&text, " (uid %lld%s%s, pid %lld)", number, user ? ", " : "",
			user ? user : "", pid);
	else
		n = asprintf(&text, " (uid %lld)", number);
	return n < 0 ? NULL : text;
}

void monitor_line_event(const struct output *output, const json_t *event)
{
	char at[TIME_BYTES];
	owned_text by = cause_of(event);
	owned_text what = what_of(event);
	const char *name = field_text(event, "name", NULL);
	const char *code = field_text(event, "code", NULL);
	const char *message = field_text(event, "message", NULL);
	output_line(output, tone_of(event), "%s %lld %s%s%s%s%s%s%s%s%s%s%s",
		time_of(event, at), (long long)field_int(event, "sequence"),
		field_text(event, "kind", "?"), name ? " " : "", name ? name : "",
		what && *what ? ": " : "", what ? what : "", message ? ": " : "",
		message ? message : "", code ? " [" : "", code ? code : "",
		code ? "]" : "", by ? by : "");
}

/* ---- gaps -------------------------------------------------------------------- */

static void put_plugins(const struct output *output, const json_t *plugins)
{
	for (size_t i = 0; i < json_array_size(plugins); i++) {
		const json_t *plugin = json_array_get(plugins, i);
		const char *state = field_text(plugin, "state", "?");
		owned_text why = field_sentence(json_object_get(plugin, "reason"), state);
		output_line(output, field_state_tone(state), "  %s: %s%s%s",
			field_text(plugin, "name", "?"), state, why && *why ? ": " : "",
			why ? why : "");
	}
}

static void put_pins(const struct output *output, const json_t *pins)
{
	for (size_t i = 0; i < json_array_size(pins); i++) {
		const json_t *pin = json_array_get(pins, i);
		bool applies = json_is_true(json_object_get(pin, "applies"));
		output_line(output, applies ? TONE_PLAIN : TONE_WARN,
			"  %s: pinned to %s%s", field_text(pin, "operation", "?"),
			field_text(pin, "choice", "?"),
			applies ? "" : ", which does not apply");
	}
}

void monitor_line_gap(const struct output *output, const json_t *reply)
{
	const json_t *unknown = json_object_get(reply, "unknown");
	const json_t *present = json_object_get(reply, "present");
	if (json_is_integer(unknown))
		output_line(output, TONE_WARN,
			"%lld events are not known; generation %lld:",
			(long long)json_integer_value(unknown),
			(long long)field_int(present, "generation"));
	else
		output_line(output, TONE_WARN,
			"plugind was started anew, what happened before is not known; "
			"generation %lld:",
			(long long)field_int(present, "generation"));
	put_plugins(output, json_object_get(present, "plugins"));
	put_pins(output, json_object_get(present, "pins"));
}
