/* SPDX-License-Identifier: MIT */
/* `pluginctl incidents`: what went wrong in applications, and which kernel did it. */
#include <errno.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/session.h"
#include "lib/base/text.h"

static const struct question question = {"Incidents",
	{{"incidents", KP_JSON_ARRAY, true}, {"total", KP_JSON_INTEGER, true}}};

enum { USUAL_LIMIT = 20, TIME_BYTES = 64 };

/* ---- parts ----------------------------------------------------------------------- */

static const char *print_time(json_int_t seconds, const char *format, char *text)
{
	struct tm broken;
	time_t at = (time_t)seconds;

	text[0] = '\0';
	if (localtime_r(&at, &broken))
		(void)strftime(text, TIME_BYTES, format, &broken);
	return text;
}

/* By name where this machine has one. */
static void add_user(struct grid *grid, const json_t *incident)
{
	json_int_t uid = field_int(incident, "uid");
	const struct passwd *user = getpwuid((uid_t)uid);

	if (user)
		grid_add(grid, TONE_PLAIN, "%s", user->pw_name);
	else
		grid_add(grid, TONE_PLAIN, "%lld", (long long)uid);
}

static enum tone tone_of(const json_t *incident)
{
	return field_is(incident, "kind", "unattributed") ? TONE_WARN : TONE_BAD;
}

/* ---- a table --------------------------------------------------------------------- */

static void add_row(struct grid *grid, const json_t *incident)
{
	char text[TIME_BYTES];

	grid_add(grid, TONE_PLAIN, "%lld", (long long)field_int(incident, "id"));
	grid_add(grid, TONE_PLAIN, "%s",
		print_time(field_int(incident, "at"), "%Y-%m-%d %H:%M:%S", text));
	grid_add(grid, tone_of(incident), "%s", field_text(incident, "kind", "?"));
	grid_add(grid, TONE_PLAIN, "%s", field_text(incident, "kernel", "-"));
	grid_add(grid, TONE_PLAIN, "%s", field_text(incident, "application", "-"));
	add_user(grid, incident);
	grid_add(grid, TONE_PLAIN, "%lld", (long long)field_int(incident, "count"));
	grid_add(grid, TONE_PLAIN, "%s", field_text(incident, "text", "?"));
}

static int put_table(const struct session *session, const json_t *reply)
{
	static const struct grid_column columns[] = {{"ID", true}, {"AT", false},
		{"KIND", false}, {"KERNEL", false}, {"APPLICATION", false},
		{"USER", false}, {"COUNT", true}, {"WHAT", false}};
	struct grid grid = {.columns = columns, .n_columns = 8};
	const json_t *incidents = json_object_get(reply, "incidents");
	json_int_t total = field_int(reply, "total");
	size_t shown = json_array_size(incidents);

	for (size_t i = 0; i < shown; i++)
		add_row(&grid, json_array_get(incidents, i));
	int status = grid_print(&grid, &session->output);
	if (status == KP_EXIT_OK && (json_int_t)shown < total)
		output_remark(&session->output,
			"%lld earlier ones are not shown; --limit 0 shows all",
			(long long)total - (long long)shown);
	return status;
}

/* ---- one in full ----------------------------------------------------------------- */

static void pair_time(struct grid *grid, const char *title, json_int_t seconds)
{
	char text[TIME_BYTES];

	grid_pair(grid, title, "%s", print_time(seconds, "%Y-%m-%d %H:%M:%S %z", text));
}

static void pair_evidence(struct grid *grid, const json_t *evidence)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)evidence, key, value) {
		owned_text text = field_print(value);
		grid_pair(grid, key, "%s", text ? text : "");
	}
}

static int put_one(const struct session *session, const json_t *incident)
{
	struct grid grid = {.columns = grid_pairs, .n_columns = 2};

	grid_pair(&grid, "incident", "%lld", (long long)field_int(incident, "id"));
	grid_add(&grid, TONE_FAINT, "kind");
	grid_add(&grid, tone_of(incident), "%s", field_text(incident, "kind", "?"));
	grid_pair(&grid, "what", "%s", field_text(incident, "text", "?"));
	field_pair_text(&grid, "kernel", incident, "kernel");
	field_pair_text(&grid, "sha256", incident, "sha256");
	field_pair_text(&grid, "application", incident, "application");
	grid_pair(&grid, "pid", "%lld", (long long)field_int(incident, "pid"));
	grid_add(&grid, TONE_FAINT, "user");
	add_user(&grid, incident);
	field_pair_text(&grid, "signal", incident, "signal");
	field_pair_text(&grid, "site", incident, "label");
	grid_pair(&grid, "count", "%lld", (long long)field_int(incident, "count"));
	pair_time(&grid, "first", field_int(incident, "first"));
	pair_time(&grid, "last", field_int(incident, "at"));
	pair_evidence(&grid, json_object_get(incident, "evidence"));
	return grid_print(&grid, &session->output);
}

/* ---- the command ----------------------------------------------------------------- */

/* A number of its own, or -1: it is none. */
static json_int_t number_of(const char *text)
{
	char *end;

	errno = 0;
	long long value = strtoll(text, &end, 10);
	return text[0] < '0' || text[0] > '9' || *end || errno ? -1 : value;
}

static int refuse(const struct session *session, const char *option, const char *value)
{
	return output_refuse(&session->output, "bad_count", option,
		"--%s %s: a number from 0 on is expected", option, value);
}

/* KP_EXIT_OK, or the status of what it printed. */
static int set_number(const struct session *session, json_t *parameters,
	const char *option, const char *value, json_int_t usual)
{
	json_int_t number = value ? number_of(value) : usual;

	if (number < 0)
		return refuse(session, option, value);
	if (number > 0 &&
		json_object_set_new(parameters, option, json_integer(number)) < 0)
		return output_no_memory(&session->output);
	return KP_EXIT_OK;
}

/* "90", "15m", "24h", "7d" ago, as a time. */
static int set_since(const struct session *session, json_t *parameters)
{
	static const struct {
		char unit;
		json_int_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	const char *value = arguments_value(&session->arguments, "since");
	json_int_t factor = 1, now = (json_int_t)time(NULL);

	if (!value)
		return KP_EXIT_OK;
	char *digits = strdup(value);
	if (!digits)
		return output_no_memory(&session->output);
	size_t n = strlen(digits);
	for (size_t i = 0; i < KP_COUNT(units); i++)
		if (n > 1 && digits[n - 1] == units[i].unit) {
			factor = units[i].seconds;
			digits[n - 1] = '\0';
			break;
		}
	json_int_t ago = number_of(digits);
	free(digits);
	if (ago < 0 || ago > now / factor)
		return output_refuse(&session->output, "bad_since", "since",
			"--since %s: expected how long ago, as 90s, 15m, 24h or 7d",
			value);
	return json_object_set_new(
		       parameters, "since", json_integer(now - ago * factor)) < 0
		       ? output_no_memory(&session->output)
		       : KP_EXIT_OK;
}

static int ask(struct session *session, json_t **reply)
{
	const struct arguments *arguments = &session->arguments;
	const char *word = arguments->n_words ? arguments->words[0] : NULL;
	json_int_t id = word ? number_of(word) : -1;
	owned_json *parameters = json_pack("{s:s*, s:s*, s:o*}", "name",
		id > 0 ? NULL : word, "kind", arguments_value(arguments, "kind"), "id",
		id > 0 ? json_integer(id) : NULL);

	if (!parameters)
		return output_no_memory(&session->output);
	int status = set_since(session, parameters);
	if (status == KP_EXIT_OK)
		status = set_number(session, parameters, "limit",
			arguments_value(arguments, "limit"), USUAL_LIMIT);
	if (status == KP_EXIT_OK)
		status = session_ask(session, &question, json_incref(parameters), reply);
	return status;
}

static int put(const struct session *session, const json_t *reply)
{
	const json_t *incidents = json_object_get(reply, "incidents");
	const struct arguments *arguments = &session->arguments;
	const char *word = arguments->n_words ? arguments->words[0] : NULL;
	int status = KP_EXIT_OK;

	if (word && number_of(word) > 0) {
		if (json_array_size(incidents) == 1)
			return put_one(session, json_array_get(incidents, 0));
		return output_refuse(&session->output, "no_such_incident", word,
			"there is no incident %s, or it is another user's", word);
	}
	if (json_array_size(incidents) == 0) {
		output_remark(&session->output, "no incident%s%s is known",
			word ? " of " : "", word ? word : "");
		return KP_EXIT_OK;
	}
	if (!arguments_has(arguments, "details"))
		return put_table(session, reply);
	for (size_t i = 0; status == KP_EXIT_OK && i < json_array_size(incidents); i++) {
		if (i > 0)
			output_line(&session->output, TONE_PLAIN, "%s", "");
		status = put_one(session, json_array_get(incidents, i));
	}
	return status;
}

static int run(struct session *session)
{
	owned_json *reply = NULL;
	int status = ask(session, &reply);
	if (status != KP_EXIT_OK)
		return status;
	return session->output.json ? output_json(reply) : put(session, reply);
}

static const struct option options[] = {
	{"kind", "KIND", "those of this kind: crash, unattributed, error, numeric",
		false},
	{"since", "AGO", "those of the last 90s, 15m, 24h or 7d", false},
	{"limit", "N", "the last N (20; 0 for all)", false},
	{"details", NULL, "all that is known of each", false},
	{NULL, NULL, NULL, false},
};

const struct command incidents_command = {
	.name = "incidents",
	.args = "[NAME|ID]",
	.most = 1,
	.summary = "Show what went wrong in applications, and which kernel did it",
	.help = "NAME is a plugin or plugin/kernel; with the ID of an incident all that "
		"is known of it. KIND is crash where a kernel crashed its application; "
		"unattributed where an application crashed and nobody can tell whose "
		"fault it was; error where a kernel kept failing; numeric where its "
		"results were not those of the reference. Alike ones within a minute "
		"are counted as one. After a few crashes the kernel is quarantined, "
		"which `pluginctl retry` ends.\n"
		"Operators see those of all users; others their own, and which kernels "
		"crashed applications of operators.",
	.options = options,
	.run = run,
};
