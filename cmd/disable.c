/* SPDX-License-Identifier: MIT */
/* `pluginctl disable`, `enable` and `is-enabled`. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/holds.h"
#include "cmd/name.h"
#include "cmd/session.h"
#include "cmd/solution.h"

static const struct question disabling = {
	"Disable", {{"changed", KP_JSON_BOOLEAN, true}}};
static const struct question enabling = {
	"Enable", {{"changed", KP_JSON_BOOLEAN, true},
			  {"enabled", KP_JSON_BOOLEAN | KP_JSON_NULL, false}}};
static const struct question telling = {"Info", {{"plugin", KP_JSON_OBJECT, true}}};
static const struct question asking = {"IsEnabled",
	{{"enabled", KP_JSON_BOOLEAN, true}, {"state", KP_JSON_STRING, true}}};

static bool is_changed(const json_t *reply)
{
	return json_is_true(json_object_get(reply, "changed"));
}

/* What IsEnabled says of each name, in their order, before anything is changed. */
static int ask_all(struct session *session, json_t *answers)
{
	const struct arguments *arguments = &session->arguments;
	for (size_t i = 0; i < arguments->n_words; i++) {
		const char *name = arguments->words[i];
		json_t *reply;
		int status = name_check(session, name, NULL);
		if (status == KP_EXIT_OK)
			status = name_ask(session, &asking, name,
				json_pack("{s:s}", "name", name), &reply);
		if (status != KP_EXIT_OK)
			return status;
		if (json_array_append_new(answers, reply) < 0)
			return output_no_memory(&session->output);
	}
	return KP_EXIT_OK;
}

/* One reply as it is, several as an array in an object. */
static int put_json(const struct session *session, const char *key, const json_t *replies)
{
	if (json_array_size(replies) == 1)
		return output_json(json_array_get(replies, 0));
	owned_json *document = json_pack("{s:O}", key, replies);
	return document ? output_json(document) : output_no_memory(&session->output);
}

/* Asks for one change, and keeps its reply among those that a later failure tells. */
static int change(struct session *session, const struct question *question,
	json_t *parameters, const json_t **reply)
{
	json_t *got;
	int status = name_ask(session, question, field_text(parameters, "name", ""),
		json_incref(parameters), &got);
	if (status != KP_EXIT_OK)
		return status;
	*reply = got;
	return json_array_append_new(session->output.changes, got) < 0
		       ? output_no_memory(&session->output)
		       : KP_EXIT_OK;
}

static bool is_silent(const struct session *session)
{
	return session->output.quiet || session->output.json;
}

/*
 * Several names are all looked up before anything is changed. One alone is for the
 * method itself to judge, which knows also decisions about plugins that have left.
 */
static int check_names(struct session *session)
{
	owned_json *answers = json_array();
	if (!answers)
		return output_no_memory(&session->output);
	return session->arguments.n_words > 1
		       ? ask_all(session, answers)
		       : name_check(session, session->arguments.words[0], NULL);
}

/* Runs `each` over the names and prints the changes. */
static int run_changes(
	struct session *session, int (*each)(struct session *session, bool *as_asked))
{
	bool as_asked = true;
	owned_json *changes = json_array();
	if (!changes)
		return output_no_memory(&session->output);
	int status = check_names(session);
	session->output.changes = changes;
	if (status == KP_EXIT_OK)
		status = each(session, &as_asked);
	session->output.changes = NULL;
	if (status == KP_EXIT_OK && session->output.json)
		status = put_json(session, "changes", changes);
	return status == KP_EXIT_OK && !as_asked ? KP_EXIT_NO : status;
}

/* ---- disable ----------------------------------------------------------------- */

/* A disable for good holds also where one --runtime was asked for. */
static int put_disabled(struct session *session, const char *name, const json_t *reply)
{
	owned_json *now = NULL;
	int status = KP_EXIT_OK;
	if (is_silent(session))
		return KP_EXIT_OK;
	if (!is_changed(reply) && arguments_has(&session->arguments, "runtime"))
		status = session_ask(
			session, &asking, json_pack("{s:s}", "name", name), &now);
	if (status != KP_EXIT_OK)
		return status;
	output_line(&session->output, TONE_PLAIN, "%s: %sdisabled%s",
		field_text(reply, "name", "?"), is_changed(reply) ? "" : "already ",
		field_is(now, "state", "disabled")
			? " for good, which stays so with --runtime"
			: "");
	holds_put(session, reply);
	return KP_EXIT_OK;
}

/* All are off before the first is waited for. */
static int wait_for_all(struct session *session)
{
	const struct arguments *arguments = &session->arguments;
	int status = KP_EXIT_OK;
	if (!arguments_has(arguments, "wait"))
		return KP_EXIT_OK;
	for (size_t i = 0; status == KP_EXIT_OK && i < arguments->n_words; i++)
		status = holds_wait(session, arguments->words[i],
			json_array_get(session->output.changes, i));
	return status;
}

static int disable_each(struct session *session, bool *as_asked)
{
	const struct arguments *arguments = &session->arguments;
	const char *reason = arguments_value(arguments, "reason");
	(void)as_asked;
	for (size_t i = 0; i < arguments->n_words; i++) {
		const char *name = arguments->words[i];
		const json_t *reply;
		owned_json *parameters = json_pack("{s:s, s:s*, s:o*}", "name", name,
			"reason", reason, "runtime",
			arguments_has(arguments, "runtime") ? json_true() : NULL);
		if (!parameters)
			return output_no_memory(&session->output);
		int status = change(session, &disabling, parameters, &reply);
		if (status == KP_EXIT_OK)
			status = put_disabled(session, name, reply);
		if (status != KP_EXIT_OK)
			return status;
	}
	return wait_for_all(session);
}

static int run_disable(struct session *session)
{
	return solution_is_asked(session) ? solution_disable(session)
					  : run_changes(session, disable_each);
}

/* ---- enable ------------------------------------------------------------------ */

/* What to do about a plugin that is off though nobody disables the name; malloc'ed. */
static char *remedy(const char *name, const json_t *plugin)
{
	char *text = NULL;
	int size = name_plugin_size(name);
	const char *state = field_text(plugin, "state", "?");
	const char *verb = "info";
	if (field_is(json_object_get(plugin, "reason"), "code", "disabled_by_manifest"))
		return asprintf(&text, "take \"enabled\": false out of %s",
			       field_text(plugin, "manifest", "its manifest")) < 0
			       ? NULL
			       : text;
	if (strcmp(state, "masked") == 0)
		verb = "unmask";
	else if (field_state_tone(state) == TONE_BAD)
		verb = "retry";
	else if (strcmp(state, "disabled") == 0 && name[size])
		verb = "enable";
	return asprintf(&text, "pluginctl %s %.*s", verb, size, name) < 0 ? NULL : text;
}

static int put_obstacle(const struct session *session, const char *name,
	const char *state, const json_t *plugin)
{
	owned_text why = field_sentence(json_object_get(plugin, "reason"), state);
	owned_text what = remedy(name, plugin);
	if (!why || !what)
		return output_no_memory(&session->output);
	output_line(&session->output, TONE_WARN, "%s: not enabled: %.*s is %s%s%s%s: %s",
		name, name_plugin_size(name), name, state, *why ? " (" : "", why,
		*why ? ")" : "", what);
	return KP_EXIT_OK;
}

/* Is plugin/kernel one of the names, and so enabled by itself? */
static bool is_asked(
	const struct arguments *arguments, const char *plugin, const char *kernel)
{
	size_t size = strlen(plugin);
	for (size_t i = 0; i < arguments->n_words; i++) {
		const char *word = arguments->words[i];
		if (strncmp(word, plugin, size) == 0 && word[size] == '/' &&
			strcmp(word + size + 1, kernel) == 0)
			return true;
	}
	return false;
}

/* Those of a plugin that was enabled as a whole. */
static void put_kernels_still_off(
	const struct session *session, const char *name, const json_t *plugin)
{
	const json_t *kernels = json_object_get(plugin, "kernels");
	for (size_t i = 0; i < json_array_size(kernels); i++) {
		const json_t *kernel = json_array_get(kernels, i);
		const char *kernel_name = field_text(kernel, "name", "?");
		if (!field_is(kernel, "state", "disabled") ||
			is_asked(&session->arguments, name, kernel_name))
			continue;
		if (field_is(json_object_get(kernel, "reason"), "code",
			    "solution_disabled"))
			output_remark(&session->output,
				"its kernel %s is still disabled; pluginctl enable %s "
				"--solution %s",
				kernel_name,
				field_text(kernel, "operation", "FAMILY/MODE"),
				field_text(kernel, "solution", "S"));
		else
			output_remark(&session->output,
				"its kernel %s is still disabled; pluginctl enable %s/%s",
				kernel_name, name, kernel_name);
	}
}

/* Says what came of it; `enabled` is whether it is now. */
static int put_enabled(
	struct session *session, const char *name, const json_t *reply, bool *enabled)
{
	owned_json *after = NULL;
	owned_json *info = NULL;
	char *error = NULL;
	const json_t *told = json_object_get(reply, "enabled");
	*enabled = json_is_true(told);
	/* An older daemon does not tell it, and the text needs more. */
	if (is_silent(session) && json_is_boolean(told))
		return KP_EXIT_OK;
	int status = session_try(
		session, &asking, json_pack("{s:s}", "name", name), &after, &error);
	if (status != KP_EXIT_OK)
		return status;
	if (error) {
		/* It was known by the decision alone, which is gone now. */
		free(error);
		*enabled = true;
		if (!is_silent(session))
			output_line(&session->output, TONE_PLAIN,
				"%s: enabled, should it come back: there is no such "
				"plugin now",
				name);
		return KP_EXIT_OK;
	}
	*enabled = json_is_true(json_object_get(after, "enabled"));
	if (is_silent(session))
		return KP_EXIT_OK;
	status = session_try(session, &telling,
		json_pack("{s:s%}", "name", name, (size_t)name_plugin_size(name)), &info,
		&error);
	free(error);
	if (status != KP_EXIT_OK)
		return status;
	const json_t *plugin = json_object_get(info, "plugin");
	if (!*enabled && solution_put_obstacle(session, name, plugin))
		return KP_EXIT_OK;
	if (!*enabled)
		return put_obstacle(
			session, name, field_text(after, "state", "?"), plugin);
	output_line(&session->output, TONE_PLAIN, "%s: %senabled",
		field_text(reply, "name", "?"), is_changed(reply) ? "" : "already ");
	if (!strchr(name, '/'))
		put_kernels_still_off(session, name, plugin);
	return KP_EXIT_OK;
}

/* Goes on behind one that something else keeps off; *as_asked: there was none. */
static int enable_each(struct session *session, bool *as_asked)
{
	const struct arguments *arguments = &session->arguments;
	for (size_t i = 0; i < arguments->n_words; i++) {
		const char *name = arguments->words[i];
		const json_t *reply;
		bool enabled = false;
		owned_json *parameters = json_pack("{s:s}", "name", name);
		if (!parameters)
			return output_no_memory(&session->output);
		int status = change(session, &enabling, parameters, &reply);
		if (status == KP_EXIT_OK)
			status = put_enabled(session, name, reply, &enabled);
		if (status != KP_EXIT_OK)
			return status;
		*as_asked &= enabled;
	}
	return KP_EXIT_OK;
}

static int run_enable(struct session *session)
{
	return solution_is_asked(session) ? solution_enable(session)
					  : run_changes(session, enable_each);
}

/* ---- is-enabled -------------------------------------------------------------- */

static int run_is_enabled(struct session *session)
{
	if (solution_is_asked(session))
		return solution_ask(session);
	owned_json *answers = json_array();
	if (!answers)
		return output_no_memory(&session->output);
	int status = ask_all(session, answers);
	if (status != KP_EXIT_OK)
		return status;
	size_t count = json_array_size(answers);
	bool all = true;
	for (size_t i = 0; i < count; i++) {
		const json_t *answer = json_array_get(answers, i);
		const char *state = field_text(answer, "state", "?");
		all &= json_is_true(json_object_get(answer, "enabled"));
		if (is_silent(session))
			continue;
		output_line(&session->output, field_state_tone(state), "%s%s%s",
			count > 1 ? field_text(answer, "name", "?") : "",
			count > 1 ? ": " : "", state);
	}
	if (session->output.json)
		status = put_json(session, "answers", answers);
	return status == KP_EXIT_OK && !all ? KP_EXIT_NO : status;
}

static const struct option options[] = {
	{"reason", "TEXT", "why, for those who ask later", false},
	{"runtime", NULL, "until plugind ends, not for good", false},
	HOLDS_WAIT_OPTION,
	SOLUTION_OPTION,
	{NULL, NULL, NULL, false},
};

static const struct option solution_options[] = {
	SOLUTION_OPTION,
	{NULL, NULL, NULL, false},
};

const struct command disable_command = {
	.name = "disable",
	.args = "NAME[/KERNEL]...",
	.least = 1,
	.most = SIZE_MAX,
	.summary = "Turn plugins or kernels off",
	.help = "Holds for every selection from now on, by no name or override is the "
		"kernel selected, and survives a restart unless --runtime is given. "
		"Applications that are attached obey with their next call; says who "
		"holds it (a captured graph, a plan, a prepared weight): exit status 6 "
		"with --wait while anybody does. "
		"Nothing is changed where one of several names is not known. With "
		"several names --json prints {\"changes\": [...]}; where one fails all "
		"the same, the error has \"changes\".",
	.options = options,
	.run = run_disable,
};

const struct command enable_command = {
	.name = "enable",
	.args = "NAME[/KERNEL]...",
	.least = 1,
	.most = SIZE_MAX,
	.summary = "Take a disable back",
	.help = "Also lets a kernel run that its author calls unproven. Exit status 1, "
		"and what to do, where something else keeps it off: a mask, its "
		"manifest, a failure. With several names --json prints {\"changes\": "
		"[...]}.",
	.options = solution_options,
	.run = run_enable,
};

const struct command is_enabled_command = {
	.name = "is-enabled",
	.args = "NAME[/KERNEL]...",
	.least = 1,
	.most = SIZE_MAX,
	.summary = "Say whether plugins or kernels are enabled",
	.help = "Prints enabled, disabled, disabled-runtime, masked, rejected, failed or "
		"such, and exits 0 where all are enabled, else 1. With --quiet the exit "
		"status alone. With several names a line each, and --json prints "
		"{\"answers\": [...]}.",
	.options = solution_options,
	.run = run_is_enabled,
};
