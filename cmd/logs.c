/* SPDX-License-Identifier: MIT */
/* `pluginctl logs`: the last failures of a plugin. */
#include <time.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/name.h"
#include "cmd/session.h"

static const struct question question = {
	"Logs", {{"state", KP_JSON_STRING, true}, {"failures", KP_JSON_ARRAY, true}}};

static void add_time(struct grid *grid, const json_t *failure)
{
	char text[64];
	struct tm broken;
	time_t at = (time_t)field_int(failure, "at");
	if (localtime_r(&at, &broken) &&
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &broken) > 0)
		grid_pair(grid, "at", "%s", text);
}

static int put_failure(const struct output *output, const json_t *failure)
{
	struct grid grid = {.columns = grid_pairs, .n_columns = 2};
	const json_t *evidence = json_object_get(failure, "evidence");
	const json_t *ended = json_object_get(evidence, "exit");
	const char *state = field_text(failure, "state", "?");
	owned_text why = field_sentence(failure, state);
	add_time(&grid, failure);
	grid_add(&grid, TONE_FAINT, "state");
	grid_add(&grid, field_state_tone(state), "%s", state);
	grid_pair(&grid, "reason", "%s", why ? why : "");
	field_pair_text(&grid, "stage", evidence, "stage");
	field_pair_text(&grid, "signal", evidence, "signal");
	if (json_is_integer(ended))
		grid_pair(&grid, "exit", "%lld", (long long)json_integer_value(ended));
	field_pair_text(&grid, "loader", evidence, "loader");
	field_pair_text(&grid, "output", evidence, "output");
	field_pair_text(&grid, "backtrace", evidence, "backtrace");
	field_pair_text(&grid, "sha256", evidence, "sha256");
	return grid_print(&grid, output);
}

static int run(struct session *session)
{
	const struct output *output = &session->output;
	const char *name = session->arguments.words[0];
	owned_json *reply = NULL;
	int status = name_check(session, name, "logged");
	if (status == KP_EXIT_OK)
		status = name_ask(session, &question, name,
			json_pack("{s:s}", "name", name), &reply);
	if (status != KP_EXIT_OK)
		return status;
	if (output->json)
		return output_json(reply);
	const json_t *failures = json_object_get(reply, "failures");
	if (json_array_size(failures) == 0)
		output_remark(output, "%s: nothing is known to have failed; it is %s",
			name, field_text(reply, "state", "?"));
	for (size_t i = 0; i < json_array_size(failures) && status == KP_EXIT_OK; i++) {
		if (i > 0)
			output_line(output, TONE_PLAIN, "%s", "");
		status = put_failure(output, json_array_get(failures, i));
	}
	return status;
}

const struct command logs_command = {
	.name = "logs",
	.args = "NAME",
	.least = 1,
	.most = 1,
	.summary = "Show the last failures of a plugin",
	.help = "What failed, in which stage, how the worker ended, the end of what it "
		"printed, where it was when a signal ended it or its time was up, and "
		"the digest of the library. The last 8 since plugind's start; what works "
		"again keeps them. What goes wrong in a kernel's run, `pluginctl verify` "
		"and `bench` tell themselves.",
	.run = run,
};
