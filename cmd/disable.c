/* SPDX-License-Identifier: MIT */
/* `pluginctl disable`, `enable` and `is-enabled`. */
#include <stdint.h>
#include <stdlib.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/session.h"

static const struct question disabling = {
	"Disable", {{"changed", KP_JSON_BOOLEAN, true}}};
static const struct question enabling = {"Enable", {{"changed", KP_JSON_BOOLEAN, true}}};
static const struct question asking = {"IsEnabled",
	{{"enabled", KP_JSON_BOOLEAN, true}, {"state", KP_JSON_STRING, true}}};

static void put_change(
	const struct session *session, const json_t *reply, const char *done)
{
	bool changed = json_is_true(json_object_get(reply, "changed"));
	if (!session->output.quiet && !session->output.json)
		output_line(&session->output, TONE_PLAIN, "%s: %s%s",
			field_text(reply, "name", "?"), changed ? "" : "already ", done);
}

/* One reply as it is, several as an array. */
static int put_json(const struct session *session, const json_t *replies)
{
	if (json_array_size(replies) == 1)
		return output_json(&session->output, json_array_get(replies, 0));
	owned_json *document = json_pack("{s:O}", "changes", replies);
	return document ? output_json(&session->output, document)
			: output_no_memory(&session->output);
}

/* Asks for every name in turn; the first that fails ends it. */
static int change(
	struct session *session, const struct question *question, const char *done)
{
	const struct arguments *arguments = &session->arguments;
	owned_json *replies = json_array();
	const char *reason = arguments_value(arguments, "reason");
	bool runtime = arguments_has(arguments, "runtime");
	for (size_t i = 0; i < arguments->n_words; i++) {
		json_t *reply;
		json_t *parameters = json_pack("{s:s, s:s*, s:o*}", "name",
			arguments->words[i], "reason", reason, "runtime",
			runtime ? json_true() : NULL);
		int status = session_ask(session, question, parameters, &reply);
		if (status != KP_EXIT_OK)
			return status;
		put_change(session, reply, done);
		if (json_array_append_new(replies, reply) < 0)
			return output_no_memory(&session->output);
	}
	return session->output.json ? put_json(session, replies) : KP_EXIT_OK;
}

static int run_disable(struct session *session)
{
	return change(session, &disabling, "disabled");
}

static int run_enable(struct session *session)
{
	return change(session, &enabling, "enabled");
}

static int run_is_enabled(struct session *session)
{
	owned_json *reply = NULL;
	json_t *parameters = json_pack("{s:s}", "name", session->arguments.words[0]);
	int status = session_ask(session, &asking, parameters, &reply);
	if (status != KP_EXIT_OK)
		return status;
	const char *state = field_text(reply, "state", "?");
	if (session->output.json)
		status = output_json(&session->output, reply);
	else if (!session->output.quiet)
		output_line(&session->output, field_state_tone(state), "%s", state);
	if (status != KP_EXIT_OK || json_is_true(json_object_get(reply, "enabled")))
		return status;
	return KP_EXIT_NO;
}

static const struct option options[] = {
	{"reason", "TEXT", "why, for those who ask later", false},
	{"runtime", NULL, "until plugind ends, not for good", false},
	{NULL, NULL, NULL, false},
};

const struct command disable_command = {
	.name = "disable",
	.args = "NAME[/KERNEL]...",
	.least = 1,
	.most = SIZE_MAX,
	.summary = "Turn plugins or kernels off",
	.help = "Holds for every selection from now on, by no name or override is the "
		"kernel "
		"selected, and survives a restart unless --runtime is given. With "
		"several names "
		"--json prints {\"changes\": [...]}.",
	.options = options,
	.run = run_disable,
};

const struct command enable_command = {
	.name = "enable",
	.args = "NAME[/KERNEL]...",
	.least = 1,
	.most = SIZE_MAX,
	.summary = "Take a disable back",
	.help = "Also lets a kernel run that its author calls unproven. With several "
		"names "
		"--json prints {\"changes\": [...]}.",
	.run = run_enable,
};

const struct command is_enabled_command = {
	.name = "is-enabled",
	.args = "NAME[/KERNEL]",
	.least = 1,
	.most = 1,
	.summary = "Say whether a plugin or kernel is enabled",
	.help = "Prints enabled, disabled, disabled-runtime, masked, rejected, failed or "
		"such, "
		"and exits 0 where it is enabled, else 1. With --quiet the exit status "
		"alone.",
	.run = run_is_enabled,
};
