/* SPDX-License-Identifier: MIT */
/* `pluginctl guard`: operations of which one call in so many is compared. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/name.h"
#include "cmd/session.h"

static const struct question changing = {"Guard",
	{{"operation", KP_JSON_STRING, true}, {"changed", KP_JSON_BOOLEAN, true}}};
static const struct question asking = {"Guards", {{"guards", KP_JSON_ARRAY, true}}};

/* ---- a change ---------------------------------------------------------------- */

static void put_problem(const struct output *output, const json_t *reply)
{
	const char *problem = field_text(reply, "problem", NULL);

	if (problem)
		output_line(output, TONE_WARN, "nothing is compared now: %s", problem);
}

static void put_change(const struct output *output, const json_t *reply)
{
	const char *operation = field_text(reply, "operation", "?");
	json_int_t every = field_int(reply, "every");
	json_int_t previous = field_int(reply, "previous");
	bool changed = json_is_true(json_object_get(reply, "changed"));

	if (every <= 0 && changed)
		output_line(output, TONE_PLAIN,
			"%s: not guarded any more, before 1 in %lld", operation,
			(long long)previous);
	else if (every <= 0)
		output_line(output, TONE_PLAIN, "%s: was not guarded", operation);
	else
		output_line(output, TONE_PLAIN,
			"%s: %sone call in %lld is compared with %s", operation,
			changed ? "" : "already, ", (long long)every,
			field_text(reply, "reference", "?"));
	if (every > 0)
		put_problem(output, reply);
}

static int change(struct session *session, const char *operation, json_int_t every)
{
	owned_json *reply = NULL;
	int status = name_ask(session, &changing, operation,
		json_pack("{s:s, s:o*}", "operation", operation, "every",
			every > 0 ? json_integer(every) : NULL),
		&reply);

	if (status != KP_EXIT_OK)
		return status;
	if (session->output.json)
		return output_json(reply);
	if (!session->output.quiet)
		put_change(&session->output, reply);
	return KP_EXIT_OK;
}

/* ---- the list ---------------------------------------------------------------- */

static int put_guards(const struct output *output, const json_t *guards)
{
	static const struct grid_column columns[] = {{"OPERATION", false},
		{"ONE IN", true}, {"UID", true}, {"REFERENCE", false},
		{"PROBLEM", false}};
	struct grid grid = {.columns = columns, .n_columns = 5};

	for (size_t i = 0; i < json_array_size(guards); i++) {
		const json_t *guard = json_array_get(guards, i);
		const char *problem = field_text(guard, "problem", "");
		grid_add(&grid, TONE_PLAIN, "%s", field_text(guard, "operation", "?"));
		grid_add(&grid, TONE_PLAIN, "%lld", (long long)field_int(guard, "every"));
		grid_add(&grid, TONE_PLAIN, "%lld", (long long)field_int(guard, "uid"));
		grid_add(&grid, TONE_PLAIN, "%s", field_text(guard, "reference", "-"));
		grid_add(&grid, TONE_WARN, "%s", problem);
	}
	return grid_print(&grid, output);
}

static int list(struct session *session)
{
	owned_json *reply = NULL;
	int status = session_ask_settled(session, &asking, json_object(), &reply);

	if (status != KP_EXIT_OK)
		return status;
	const json_t *guards = json_object_get(reply, "guards");
	if (session->output.json)
		return output_json(reply);
	if (session->output.quiet) {
		field_lines(&session->output, guards, "operation");
		return KP_EXIT_OK;
	}
	if (json_array_size(guards) == 0)
		output_remark(&session->output, "nothing is guarded");
	else
		status = put_guards(&session->output, guards);
	session_remark_pending(session, reply);
	return status;
}

/* ---- the command ------------------------------------------------------------- */

static int refuse(struct session *session, const char *code, const char *message)
{
	struct kp_diag diag;

	kp_diag_set(&diag, code, "guard", "%s", message);
	return output_fail_diag(&session->output, &diag);
}

static int read_every(const struct session *session, const char *text, json_int_t *every)
{
	char *end;

	errno = 0;
	*every = strtoll(text, &end, 10);
	if (end == text || *end || errno || *every < 1 || *every > UINT32_MAX)
		return output_refuse(&session->output, "bad_every", text,
			"--every %s: a number of calls is expected, 1 is each of them",
			text);
	return KP_EXIT_OK;
}

/* --every N or --off, for one operation; 0 is off. */
static int read_change(struct session *session, json_int_t *every)
{
	const struct arguments *arguments = &session->arguments;
	const char *given = arguments_value(arguments, "every");
	bool off = arguments_has(arguments, "off");

	*every = 0;
	if (arguments->n_words == 0)
		return refuse(session, "missing_argument",
			"--every and --off are for one operation: say which");
	if (given && off)
		return refuse(session, "usage", "either --every N or --off");
	if (!given && !off)
		return refuse(session, "usage", "--every N or --off is missing");
	return given ? read_every(session, given, every) : KP_EXIT_OK;
}

static int run(struct session *session)
{
	const struct arguments *arguments = &session->arguments;
	json_int_t every;

	if (arguments->n_words == 0 && !arguments_has(arguments, "every") &&
		!arguments_has(arguments, "off"))
		return list(session);
	int status = read_change(session, &every);
	if (status != KP_EXIT_OK)
		return status;
	return change(session, arguments->words[0], every);
}

static const struct option options[] = {
	{"every", "N", "compare one call in N; 1 is each of them", false},
	{"off", NULL, "compare none any more", false},
	SESSION_SETTLE,
	{NULL, NULL, NULL, false},
};

const struct command guard_command = {
	.name = "guard",
	.args = "[FAMILY/MODE]",
	.most = 1,
	.summary = "Have calls compared with the reference, in applications that run",
	.help = "Without an operation it lists what is guarded. In each application one "
		"call in N on a CPU is computed again, in part, by the family's "
		"reference on copies: slices of what the family calls independent, at "
		"random and as many as about a millisecond allows. The application's "
		"result stays what it is; what differs beyond the family's tolerance is "
		"an incident of kind numeric (`pluginctl incidents`). Captured calls "
		"are never compared. Holds at once and survives a restart; a call site "
		"that says itself how often goes first.",
	.options = options,
	.run = run,
};
