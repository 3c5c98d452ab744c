/* SPDX-License-Identifier: MIT */
/* `pluginctl history` and `rollback`: what ran as a plugin, and going back to it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/name.h"
#include "cmd/rolled.h"
#include "cmd/session.h"

enum { TIME_BYTES = 64, DIGEST_SHOWN = 12 };

static const struct question asking = {"History", {{"generations", KP_JSON_ARRAY, true}}};
static const struct question changing = {"Rollback",
	{{"changed", KP_JSON_BOOLEAN, true}, {"plugin", KP_JSON_OBJECT, true}}};

/* ---- history ------------------------------------------------------------------- */

static const char *print_time(const json_t *seconds, char text[TIME_BYTES])
{
	struct tm broken;
	time_t at = (time_t)json_integer_value(seconds);

	if (!json_is_integer(seconds) || !localtime_r(&at, &broken) ||
		strftime(text, TIME_BYTES, "%Y-%m-%d %H:%M:%S", &broken) == 0)
		return "-";
	return text;
}

static bool is_true(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

static void add_row(struct grid *grid, const json_t *generation)
{
	const char *verdict = field_text(generation, "verdict", "?");
	owned_text reason =
		field_sentence(json_object_get(generation, "reason"), verdict);
	char from[TIME_BYTES], to[TIME_BYTES];

	grid_add(grid, TONE_PLAIN, "%lld", (long long)field_int(generation, "number"));
	grid_add(grid, TONE_PLAIN, "%s",
		print_time(json_object_get(generation, "at"), from));
	grid_add(grid, is_true(generation, "current") ? TONE_GOOD : TONE_PLAIN, "%s",
		is_true(generation, "current")
			? "now"
			: print_time(json_object_get(generation, "until"), to));
	grid_add(grid, TONE_PLAIN, "%s", field_text(generation, "version", "-"));
	grid_add(grid, TONE_PLAIN, "%.*s", DIGEST_SHOWN,
		field_text(generation, "sha256", "-"));
	grid_add(grid, field_state_tone(verdict), "%s%s%s%s", verdict,
		reason && *reason ? ": " : "", reason ? reason : "",
		is_true(generation, "rolled_back") ? ", rolled back to" : "");
}

static int put_history(const struct session *session, const json_t *reply)
{
	static const struct grid_column columns[] = {{"GENERATION", true},
		{"FROM", false}, {"TO", false}, {"VERSION", false}, {"SHA-256", false},
		{"VERDICT", false}};
	struct grid grid = {.columns = columns, .n_columns = 6};
	const json_t *list = json_object_get(reply, "generations");

	for (size_t i = 0; i < json_array_size(list); i++)
		add_row(&grid, json_array_get(list, i));
	int status = grid_print(&grid, &session->output);
	owned_text why = rolled_print(json_object_get(reply, "rolled_back"));
	if (status == KP_EXIT_OK && why)
		output_line(&session->output, TONE_WARN, "%s", why);
	return status;
}

static void put_numbers(const struct session *session, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		output_line(&session->output, TONE_PLAIN, "%lld",
			(long long)field_int(json_array_get(list, i), "number"));
}

static int run_history(struct session *session)
{
	const char *name = session->arguments.words[0];
	owned_json *reply = NULL;
	owned_json *parameters = json_pack("{s:s}", "name", name);

	if (!parameters)
		return output_no_memory(&session->output);
	int status = name_check(session, name, "kept");
	if (status == KP_EXIT_OK)
		status = session_settle(session, parameters);
	if (status == KP_EXIT_OK)
		status =
			name_ask(session, &asking, name, json_incref(parameters), &reply);
	if (status != KP_EXIT_OK)
		return status;
	const json_t *list = json_object_get(reply, "generations");
	if (session->output.json)
		return output_json(reply);
	if (session->output.quiet)
		put_numbers(session, list);
	else if (json_array_size(list) == 0)
		output_remark(&session->output, "%s has not run yet", name);
	else
		status = put_history(session, reply);
	return status;
}

/* ---- rollback ------------------------------------------------------------------ */

static int put_change(const struct session *session, const json_t *reply)
{
	const json_t *plugin = json_object_get(reply, "plugin");
	const json_t *number = json_object_get(reply, "number");
	const char *name = field_text(reply, "name", "?");
	const char *state = field_text(plugin, "state", "?");
	const char *version = field_text(plugin, "version", NULL);
	owned_text reason = field_sentence(json_object_get(plugin, "reason"), state);
	bool changed = is_true(reply, "changed");

	if (json_is_integer(number))
		output_line(&session->output, TONE_PLAIN, "%s: %srolled back to %lld%s%s",
			name, changed ? "" : "already ",
			(long long)json_integer_value(number),
			version ? ", version " : "", version ? version : "");
	else
		output_line(&session->output, TONE_PLAIN, "%s: %s", name,
			changed ? "released, its manifest's library runs"
				: "was not rolled back");
	output_line(&session->output, field_state_tone(state), "%s: %s%s%s", name, state,
		reason && *reason ? ": " : "", reason ? reason : "");
	return KP_EXIT_OK;
}

/* Its number, 0: none is given, or -1: it is none. */
static json_int_t read_number(const struct arguments *arguments)
{
	char *end;

	if (arguments->n_words < 2)
		return 0;
	errno = 0;
	long long number = strtoll(arguments->words[1], &end, 10);
	return *arguments->words[1] && !*end && !errno && number > 0 ? number : -1;
}

static int check(const struct session *session, json_int_t number)
{
	const struct arguments *arguments = &session->arguments;

	if (number < 0)
		return output_refuse(&session->output, "bad_generation",
			arguments->words[1],
			"%s is no number of a generation; `pluginctl history %s` lists "
			"them",
			arguments->words[1], arguments->words[0]);
	if (arguments_has(arguments, "release") &&
		(number > 0 || arguments_has(arguments, "reason")))
		return output_refuse(&session->output, "usage", "--release",
			"--release takes back what was rolled back: it has neither a "
			"generation nor a reason");
	return KP_EXIT_OK;
}

static int run_rollback(struct session *session)
{
	const struct arguments *arguments = &session->arguments;
	const char *name = arguments->words[0];
	json_int_t number = read_number(arguments);
	bool release = arguments_has(arguments, "release");
	owned_json *reply = NULL;
	int status = name_check(session, name, "rolled back");

	session->late = session_late;
	if (status == KP_EXIT_OK)
		status = check(session, number);
	if (status == KP_EXIT_OK)
		status = name_ask(session, &changing, name,
			json_pack("{s:s, s:o*, s:s*, s:o*}", "name", name, "number",
				number > 0 ? json_integer(number) : NULL, "reason",
				arguments_value(arguments, "reason"), "release",
				release ? json_true() : NULL),
			&reply);
	if (status != KP_EXIT_OK)
		return status;
	if (session->output.json)
		status = output_json(reply);
	else if (!session->output.quiet)
		status = put_change(session, reply);
	const char *state = field_text(json_object_get(reply, "plugin"), "state", "?");
	return status == KP_EXIT_OK && field_state_tone(state) == TONE_BAD ? KP_EXIT_NO
									   : status;
}

static const struct option history_options[] = {
	SESSION_SETTLE,
	{NULL, NULL, NULL, false},
};

static const struct option rollback_options[] = {
	{"reason", "TEXT", "why; shown wherever the plugin is", false},
	{"release", NULL, "let the manifest's own library run again", false},
	{NULL, NULL, NULL, false},
};

const struct command history_command = {
	.name = "history",
	.args = "NAME",
	.least = 1,
	.most = 1,
	.summary = "List the generations of a plugin that are kept, the newest first",
	.help = "A generation is a library that was active under this name, with what it "
		"reaches, as it lies in plugind's store; its verdict is the last that it "
		"had. plugind keeps three of each plugin (--history), also of one that "
		"has left. With --quiet the numbers alone.",
	.options = history_options,
	.run = run_history,
};

const struct command rollback_command = {
	.name = "rollback",
	.args = "NAME [GENERATION]",
	.least = 1,
	.most = 2,
	.summary = "Let an earlier generation of a plugin run again",
	.help = "The last one before that which runs, or the one of this number. It runs "
		"from plugind's store, in every application at once, and stays: neither "
		"a new library nor a restart replaces it until --release. What was found "
		"out about it earlier holds; it is probed again only where something "
		"that it needs is another one. Waits, and exits 1 where it does not work "
		"any more.",
	.options = rollback_options,
	.waits = true,
	.run = run_rollback,
};
