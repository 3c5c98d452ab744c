/* SPDX-License-Identifier: MIT */
/* Questions about a solution of an operation. */
#include "cmd/solution.h"

#include <string.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/holds.h"
#include "cmd/name.h"
#include "cmd/session.h"

static const struct question disabling = {
	"Disable", {{"changed", KP_JSON_BOOLEAN, true},
			   {"solution", KP_JSON_STRING | KP_JSON_NULL, false}}};
static const struct question enabling = {
	"Enable", {{"changed", KP_JSON_BOOLEAN, true},
			  {"solution", KP_JSON_STRING | KP_JSON_NULL, false}}};
static const struct question asking = {
	"IsEnabled", {{"enabled", KP_JSON_BOOLEAN, true}, {"state", KP_JSON_STRING, true},
			     {"solution", KP_JSON_STRING | KP_JSON_NULL, false}}};

bool solution_is_asked(const struct session *session)
{
	return arguments_value(&session->arguments, "solution") != NULL;
}

/* One operation, and what is asked of it. */
static int ask(struct session *session, const struct question *question, json_t **reply)
{
	const struct arguments *arguments = &session->arguments;
	const char *operation = arguments->words[0];
	if (arguments->n_words > 1)
		return output_refuse(&session->output, "unexpected_argument",
			arguments->words[1],
			"%s: with --solution one operation is expected",
			arguments->words[1]);
	return name_ask(session, question, operation,
		json_pack("{s:s, s:s, s:s*, s:o*}", "name", operation, "solution",
			arguments_value(arguments, "solution"), "reason",
			arguments_value(arguments, "reason"), "runtime",
			arguments_has(arguments, "runtime") ? json_true() : NULL),
		reply);
}

static int put_change(
	struct session *session, const struct question *question, const char *word)
{
	owned_json *reply = NULL;
	int status = ask(session, question, &reply);
	if (status == KP_EXIT_OK && arguments_has(&session->arguments, "wait"))
		status = holds_wait(session, NULL, reply);
	if (status != KP_EXIT_OK)
		return status;
	if (session->output.json)
		return output_json(reply);
	if (session->output.quiet)
		return KP_EXIT_OK;
	output_line(&session->output, TONE_PLAIN, "%s, solution %s: %s%s",
		field_text(reply, "name", "?"), field_text(reply, "solution", "?"),
		json_is_true(json_object_get(reply, "changed")) ? "" : "already ", word);
	holds_put(session, reply);
	return KP_EXIT_OK;
}

int solution_disable(struct session *session)
{
	return put_change(session, &disabling, "disabled");
}

int solution_enable(struct session *session)
{
	return put_change(session, &enabling, "enabled");
}

int solution_ask(struct session *session)
{
	owned_json *reply = NULL;
	int status = ask(session, &asking, &reply);
	if (status != KP_EXIT_OK)
		return status;
	const char *state = field_text(reply, "state", "?");
	if (session->output.json)
		status = output_json(reply);
	else if (!session->output.quiet)
		output_line(&session->output, field_state_tone(state), "%s", state);
	return status == KP_EXIT_OK && !json_is_true(json_object_get(reply, "enabled"))
		       ? KP_EXIT_NO
		       : status;
}

bool solution_put_obstacle(
	const struct session *session, const char *name, const json_t *plugin)
{
	const json_t *kernels = json_object_get(plugin, "kernels");
	const char *slash = strchr(name, '/');
	for (size_t i = 0; slash && i < json_array_size(kernels); i++) {
		const json_t *kernel = json_array_get(kernels, i);
		const json_t *reason = json_object_get(kernel, "reason");
		if (!field_is(kernel, "name", slash + 1) ||
			!field_is(reason, "code", "solution_disabled"))
			continue;
		output_line(&session->output, TONE_WARN,
			"%s: not enabled: %s: pluginctl enable %s --solution %s", name,
			field_text(reason, "message", "its solution is disabled"),
			field_text(kernel, "operation", "FAMILY/MODE"),
			field_text(kernel, "solution", "S"));
		return true;
	}
	return false;
}
