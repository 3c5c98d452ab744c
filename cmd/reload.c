/* SPDX-License-Identifier: MIT */
/* `pluginctl reload` and `retry`. */
#include <stdint.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/name.h"
#include "cmd/session.h"

static const struct question reloading = {
	"Reload", {{"added", KP_JSON_ARRAY, true}, {"changed", KP_JSON_ARRAY, true},
			  {"removed", KP_JSON_ARRAY, true},
			  {"plugins", KP_JSON_ARRAY | KP_JSON_NULL, false}}};
static const struct question retrying = {"Retry", {{"plugin", KP_JSON_OBJECT, true}}};

/* What the plugin is now, and why that is not active. */
static void add_outcome(struct grid *grid, const char *title, const json_t *plugin)
{
	const char *state = field_text(plugin, "state", "?");
	owned_text reason = field_sentence(json_object_get(plugin, "reason"), state);
	grid_pair(grid, title, "%s  %s%s%s", field_text(plugin, "name", "?"), state,
		reason && *reason ? ": " : "", reason ? reason : "");
}

static bool has_name(const json_t *names, const char *name)
{
	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *one = json_string_value(json_array_get(names, i));
		if (one && strcmp(one, name) == 0)
			return true;
	}
	return false;
}

static const char *change_of(const json_t *reply, const json_t *plugin)
{
	const char *name = field_text(plugin, "name", "");
	if (has_name(json_object_get(reply, "added"), name))
		return "added";
	return has_name(json_object_get(reply, "changed"), name) ? "changed"
								 : "unchanged";
}

static int put_reload(const struct session *session, const json_t *reply)
{
	struct grid grid = {.columns = grid_pairs, .n_columns = 2};
	const json_t *plugins = json_object_get(reply, "plugins");
	size_t i;
	json_t *plugin;
	if (session->output.quiet)
		return KP_EXIT_OK;
	json_array_foreach (plugins, i, plugin)
		add_outcome(&grid, change_of(reply, plugin), plugin);
	/* An older daemon tells the names alone. */
	if (!json_is_array(plugins)) {
		field_pair_list(&grid, "added", reply, "added");
		field_pair_list(&grid, "changed", reply, "changed");
	}
	field_pair_list(&grid, "removed", reply, "removed");
	if (grid.n_cells == 0 && !grid.failed)
		output_line(&session->output, TONE_PLAIN, "nothing changed");
	return grid_print(&grid, &session->output);
}

static int run_reload(struct session *session)
{
	const struct arguments *arguments = &session->arguments;
	owned_json *reply = NULL;
	const char *name = arguments->n_words ? arguments->words[0] : NULL;
	session->late = session_late;
	int status = name ? name_check(session, name, "reloaded") : KP_EXIT_OK;
	if (status == KP_EXIT_OK)
		status = name_ask(session, &reloading, name ? name : "",
			json_pack("{s:s*}", "name", name), &reply);
	if (status != KP_EXIT_OK)
		return status;
	return session->output.json ? output_json(reply) : put_reload(session, reply);
}

/* Off because an operator wants it so is no failure of the retry. */
static bool is_bad(const char *state)
{
	return field_state_tone(state) == TONE_BAD;
}

static int run_retry(struct session *session)
{
	owned_json *reply = NULL;
	const char *name = session->arguments.words[0];
	session->late = session_late;
	int status = name_check(session, name, NULL);
	if (status == KP_EXIT_OK)
		status = name_ask(session, &retrying, name,
			json_pack("{s:s}", "name", name), &reply);
	if (status != KP_EXIT_OK)
		return status;
	const json_t *plugin = json_object_get(reply, "plugin");
	const json_t *changed = json_object_get(reply, "changed");
	const char *state = field_text(plugin, "state", "?");
	owned_text reason = field_sentence(json_object_get(plugin, "reason"), state);
	if (session->output.json)
		status = output_json(reply);
	else if (!session->output.quiet && json_is_boolean(changed))
		output_line(&session->output, TONE_GOOD, "%s: %s", name,
			json_is_true(changed) ? "its quarantine is lifted"
					      : "was not quarantined");
	else if (!session->output.quiet)
		output_line(&session->output, field_state_tone(state), "%s: %s%s%s",
			field_text(plugin, "name", "?"), state,
			reason && *reason ? ": " : "", reason ? reason : "");
	return status == KP_EXIT_OK && is_bad(state) ? KP_EXIT_NO : status;
}

const struct command reload_command = {
	.name = "reload",
	.args = "[NAME]",
	.most = 1,
	.summary = "Read the manifests again, and wait for the result",
	.help = "All of them, or one. What has not changed is not probed again: for that "
		"there is `pluginctl retry`. Tells what each plugin that was added or "
		"changed has become, and exits 0 whatever that is; scripts ask "
		"`pluginctl status --strict`.",
	.waits = true,
	.run = run_reload,
};

const struct command retry_command = {
	.name = "retry",
	.args = "NAME",
	.least = 1,
	.most = 1,
	.summary = "Forget what is known of a plugin and probe it again",
	.help = "Its quarantined kernels run again, too. Of a kernel, plugin/kernel, "
		"only the quarantine is lifted; who is no operator may lift what is "
		"quarantined for his applications alone. Waits, and exits 1 where the "
		"plugin is rejected, failed, quarantined or missing again. A disabled "
		"plugin is probed, too; where it works it stays disabled, which is no "
		"failure.",
	.waits = true,
	.run = run_retry,
};
