/* SPDX-License-Identifier: MIT */
/* `pluginctl list`: every plugin that was found. */
#include <stdint.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/name.h"
#include "cmd/rolled.h"
#include "cmd/session.h"
#include "lib/base/text.h"

enum { REASON_BYTES = 4096 };

static const struct question question = {"List", {{"plugins", KP_JSON_ARRAY, true}}};
static const struct question knowing = {"Kernels", {{"kernels", KP_JSON_ARRAY, true}}};

/* Not a state of the registry: what lies in the plugin directory unnamed. */
static const char unclaimed[] = "unclaimed";

/* "2", or "1 of 2" where one is off by itself. */
static void add_kernels(struct grid *grid, const json_t *plugin)
{
	size_t count = field_count(plugin, "kernels");
	size_t off = field_count(plugin, "disabled_kernels") +
		     field_count(plugin, "quarantined_kernels");
	if (off > 0)
		grid_add(grid, TONE_WARN, "%zu of %zu", count > off ? count - off : 0,
			count);
	else
		grid_add(grid, TONE_PLAIN, "%zu", count);
}

/* "2 kernels disabled: a, b", behind what is there. */
static size_t add_names(char *text, size_t size, size_t used, const json_t *plugin,
	const char *key, const char *what)
{
	size_t off = field_count(plugin, key);
	owned_text names = field_join(json_object_get(plugin, key), ", ");
	if (off == 0 || !names)
		return used;
	return kp_text_add(text, size, used, "%s%zu kernel%s %s: %s", used ? "; " : "",
		off, off > 1 ? "s" : "", what, names);
}

static void add_reason(struct grid *grid, const json_t *plugin, const char *state)
{
	owned_text reason = field_sentence(json_object_get(plugin, "reason"), state);
	char text[REASON_BYTES] = "";
	size_t used = 0;
	if (!reason)
		grid->failed = true;
	else
		used = kp_text_add(text, sizeof(text), 0, "%s", reason);
	used = add_names(
		text, sizeof(text), used, plugin, "disabled_kernels", "disabled");
	used = add_names(
		text, sizeof(text), used, plugin, "quarantined_kernels", "quarantined");
	owned_text rolled = rolled_print(json_object_get(plugin, "rolled_back"));
	if (rolled)
		used = kp_text_add(
			text, sizeof(text), used, "%s%s", used ? "; " : "", rolled);
	if (field_is(plugin, "origin", "loaded"))
		(void)kp_text_add(text, sizeof(text), used,
			"%sloaded, until plugind ends", used ? "; " : "");
	grid_add(grid, TONE_PLAIN, "%s", text);
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
		grid_add(&grid, TONE_PLAIN, "%s", field_text(plugin, "name", "?"));
		grid_add(&grid, TONE_PLAIN, "%s", field_text(plugin, "version", "-"));
		grid_add(&grid, field_state_tone(state), "%s", state);
		add_kernels(&grid, plugin);
		add_reason(&grid, plugin, state);
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

/* A family that nobody has is a wrong name, not an empty list. */
static int check_family(struct session *session, const char *family)
{
	owned_json *reply = NULL;
	return name_ask(session, &knowing, family,
		json_pack("{s:s}", "operation", family), &reply);
}

static int ask(struct session *session, json_t **reply)
{
	const struct arguments *arguments = &session->arguments;
	const char *state = arguments_value(arguments, "state");
	const char *family = arguments_value(arguments, "family");
	bool all = arguments_has(arguments, "all") ||
		   (state && strcmp(state, unclaimed) == 0);
	session->as_it_is = !family;
	int status = session_ask_settled(session, &question,
		json_pack("{s:s*, s:s*, s:o*}", "state", state, "family", family, "all",
			all ? json_true() : NULL),
		reply);
	if (status == KP_EXIT_OK && family && field_count(*reply, "plugins") == 0)
		status = check_family(session, family);
	return status;
}

static int run(struct session *session)
{
	owned_json *reply = NULL;
	int status = ask(session, &reply);
	if (status != KP_EXIT_OK)
		return status;
	if (session->output.json)
		return session_print(session, reply);
	const json_t *plugins = json_object_get(reply, "plugins");
	if (session->output.quiet) {
		field_lines(&session->output, plugins, "name");
		return KP_EXIT_OK;
	}
	if (json_array_size(plugins) == 0)
		status = put_nothing(session);
	else
		status = put_table(&session->output, plugins);
	session_remark_pending(session, reply);
	return status;
}

static const struct option options[] = {
	{"state", "STATE",
		"those in this state: pending, active, disabled, masked, rejected, "
		"failed, quarantined, missing, unclaimed",
		false},
	{"family", "FAMILY", "those with kernels of this family (\"gemm\") or operation",
		false},
	{"all", NULL, "also libraries in the plugin directory that no manifest names",
		false},
	SESSION_SETTLE,
	{NULL, NULL, NULL, false},
};

const struct command list_command = {
	.name = "list",
	.args = "",
	.summary = "List every plugin with its state",
	.help = "Shows name, version, state, number of kernels, and for what is not "
		"active the reason. With --quiet the names alone.",
	.options = options,
	.offline = true,
	.run = run,
};
