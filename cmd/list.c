/* SPDX-License-Identifier: MIT */
/* `pluginctl list`: every plugin that was found. */
#include <stdint.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/session.h"
#include "lib/text.h"
#include "lib/verdict.h"

static const struct question question = {"List", {{"plugins", KP_JSON_ARRAY, true}}};

/* Not a state of the registry: what lies in the plugin directory unnamed. */
static const char unclaimed[] = "unclaimed";

static int check_state(struct session *session, const char *state)
{
	const char *names[KP_STATES + 1];
	for (size_t i = 0; i < KP_STATES; i++)
		names[i] = kp_state_name((enum kp_state)i);
	names[KP_STATES] = unclaimed;
	for (size_t i = 0; i <= KP_STATES; i++)
		if (strcmp(names[i], state) == 0)
			return KP_EXIT_OK;
	const char *nearest = kp_text_nearest(state, names, KP_STATES + 1);
	if (nearest)
		return output_refuse(&session->output, "unknown_state", state,
			"no state %s; did you mean %s?", state, nearest);
	return output_refuse(&session->output, "unknown_state", state,
		"no state %s; there are pending, active, disabled, masked, rejected, "
		"failed, "
		"quarantined, missing and unclaimed",
		state);
}

static int put_names(const struct output *output, const json_t *plugins)
{
	size_t i;
	json_t *plugin;
	json_array_foreach ((json_t *)(uintptr_t)plugins, i, plugin)
		output_line(output, TONE_PLAIN, "%s", field_text(plugin, "name", "?"));
	return KP_EXIT_OK;
}

static int put_table(const struct output *output, const json_t *plugins)
{
	static const struct grid_column columns[] = {{"NAME", false}, {"VERSION", false},
		{"STATE", false}, {"KERNELS", true}, {"REASON", false}};
	struct grid grid = {.columns = columns, .n_columns = 5};
	size_t i;
	json_t *plugin;
	json_array_foreach ((json_t *)(uintptr_t)plugins, i, plugin) {
		const char *state = field_text(plugin, "state", "?");
		owned_chars reason = field_reason(json_object_get(plugin, "reason"));
		grid_add(&grid, TONE_PLAIN, "%s", field_text(plugin, "name", "?"));
		grid_add(&grid, TONE_PLAIN, "%s", field_text(plugin, "version", "-"));
		grid_add(&grid, field_state_tone(state), "%s", state);
		grid_add(&grid, TONE_PLAIN, "%zu", field_count(plugin, "kernels"));
		grid_add(&grid, TONE_PLAIN, "%s", reason ? reason : "");
	}
	return grid_print(&grid, output);
}

static int put_nothing(const struct session *session)
{
	const struct arguments *arguments = &session->arguments;
	bool filtered =
		arguments_has(arguments, "state") || arguments_has(arguments, "family");
	output_remark(
		&session->output, filtered ? "no plugin is like that"
					   : "no plugins: no manifest was found; "
					     "`pluginctl status` has the directories");
	return KP_EXIT_OK;
}

static int run(struct session *session)
{
	const struct arguments *arguments = &session->arguments;
	const char *state = arguments_value(arguments, "state");
	const char *family = arguments_value(arguments, "family");
	owned_json *reply = NULL;
	int status = state ? check_state(session, state) : KP_EXIT_OK;
	if (status != KP_EXIT_OK)
		return status;
	json_t *parameters =
		json_pack("{s:s*, s:s*, s:b}", "state", state, "family", family, "all",
			arguments_has(arguments, "all") ||
				(state && strcmp(state, unclaimed) == 0));
	status = session_ask(session, &question, parameters, &reply);
	if (status != KP_EXIT_OK)
		return status;
	if (session->output.json)
		return output_json(&session->output, reply);
	const json_t *plugins = json_object_get(reply, "plugins");
	if (session->output.quiet)
		return put_names(&session->output, plugins);
	if (json_array_size(plugins) == 0)
		return put_nothing(session);
	status = put_table(&session->output, plugins);
	if (field_count(reply, "pending"))
		output_remark(&session->output,
			"%zu still pending; `pluginctl status --wait` waits",
			field_count(reply, "pending"));
	return status;
}

static const struct option options[] = {
	{"state", "STATE",
		"those in this state: pending, active, disabled, masked, rejected, "
		"failed, "
		"quarantined, missing, unclaimed",
		false},
	{"family", "FAMILY", "those with kernels of this family (\"gemm\") or operation",
		false},
	{"all", NULL, "also libraries in the plugin directory that no manifest names",
		false},
	{NULL, NULL, NULL, false},
};

const struct command list_command = {
	.name = "list",
	.args = "",
	.summary = "List every plugin with its state",
	.help = "Shows name, version, state, number of kernels, and for what is not "
		"active the "
		"reason. With --quiet the names alone.",
	.options = options,
	.run = run,
};
