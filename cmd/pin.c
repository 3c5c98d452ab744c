/* SPDX-License-Identifier: MIT */
/* `pluginctl pin`, `unpin` and `pins`. */
#include <string.h>

#include "cmd/command.h"
#include "cmd/exclusion.h"
#include "cmd/field.h"
#include "cmd/grid.h"
#include "cmd/name.h"
#include "cmd/session.h"

static const struct question pinning = {
	"Pin", {{"choice", KP_JSON_STRING, true}, {"changed", KP_JSON_BOOLEAN, true},
		       {"applies", KP_JSON_BOOLEAN, true}}};
static const struct question unpinning = {"Unpin", {{"changed", KP_JSON_BOOLEAN, true}}};
static const struct question asking = {"Pins", {{"pins", KP_JSON_ARRAY, true}}};

static bool is_true(const json_t *reply, const char *key)
{
	return json_is_true(json_object_get(reply, key));
}

/* ---- pin --------------------------------------------------------------------- */

/* Kept all the same: it applies as soon as the kernel is eligible. */
static int put_obstacle(const struct session *session, const json_t *reply)
{
	const json_t *reasons = json_object_get(reply, "reasons");
	owned_text why = exclusion_print(json_array_get(reasons, 0));
	const char *selected = field_text(reply, "selected", NULL);
	if (!why)
		return output_no_memory(&session->output);
	output_line(&session->output, TONE_WARN, "%s does not apply now%s%s; %s%s",
		field_text(reply, "choice", "?"), *why ? ": " : "", why,
		selected ? selected : "nothing", selected ? " runs" : " is eligible");
	return KP_EXIT_OK;
}

static int put_pin(const struct session *session, const json_t *reply)
{
	const char *previous = field_text(reply, "previous", NULL);
	bool replaces = previous && is_true(reply, "changed") &&
			!field_is(reply, "choice", previous);
	output_line(&session->output, TONE_PLAIN, "%s: %spinned to %s%s%s%s",
		field_text(reply, "operation", "?"),
		is_true(reply, "changed") ? "" : "already ",
		field_text(reply, "choice", "?"),
		is_true(reply, "force") ? " by force" : "",
		replaces ? ", before to " : "", replaces ? previous : "");
	return is_true(reply, "applies") ? KP_EXIT_OK : put_obstacle(session, reply);
}

static int run_pin(struct session *session)
{
	const struct arguments *arguments = &session->arguments;
	const char *operation = arguments->words[0];
	owned_json *reply = NULL;
	int status = name_ask(session, &pinning, operation,
		json_pack("{s:s, s:s, s:o*}", "operation", operation, "choice",
			arguments->words[1], "force",
			arguments_has(arguments, "force") ? json_true() : NULL),
		&reply);
	if (status != KP_EXIT_OK)
		return status;
	if (session->output.json)
		status = output_json(reply);
	else if (!session->output.quiet)
		status = put_pin(session, reply);
	return status == KP_EXIT_OK && !is_true(reply, "applies") ? KP_EXIT_NO : status;
}

/* ---- unpin ------------------------------------------------------------------- */

static int run_unpin(struct session *session)
{
	const char *operation = session->arguments.words[0];
	owned_json *reply = NULL;
	int status = name_ask(session, &unpinning, operation,
		json_pack("{s:s}", "operation", operation), &reply);
	if (status != KP_EXIT_OK)
		return status;
	if (session->output.json)
		return output_json(reply);
	if (session->output.quiet)
		return KP_EXIT_OK;
	if (is_true(reply, "changed"))
		output_line(&session->output, TONE_PLAIN, "%s: unpinned from %s",
			operation, field_text(reply, "previous", "?"));
	else
		output_line(
			&session->output, TONE_PLAIN, "%s: was not pinned", operation);
	return KP_EXIT_OK;
}

/* ---- pins -------------------------------------------------------------------- */

static void add_row(struct grid *grid, const json_t *pin)
{
	const char *selected = field_text(pin, "selected", "nothing");
	grid_add(grid, TONE_PLAIN, "%s", field_text(pin, "operation", "?"));
	grid_add(grid, TONE_PLAIN, "%s%s", field_text(pin, "choice", "?"),
		is_true(pin, "force") ? " (force)" : "");
	grid_add(grid, TONE_PLAIN, "%lld", (long long)field_int(pin, "uid"));
	grid_add(grid, is_true(pin, "applies") ? TONE_GOOD : TONE_WARN, "%s", selected);
	if (field_count(pin, "reasons") > 0)
		exclusion_add(grid, json_object_get(pin, "reasons"));
	else
		grid_add(grid, TONE_PLAIN, "%s", "");
}

static int put_pins(const struct output *output, const json_t *pins)
{
	static const struct grid_column columns[] = {{"OPERATION", false},
		{"CHOICE", false}, {"UID", true}, {"SELECTED", false},
		{"DOES NOT APPLY", false}};
	struct grid grid = {.columns = columns, .n_columns = 5};
	for (size_t i = 0; i < json_array_size(pins); i++)
		add_row(&grid, json_array_get(pins, i));
	return grid_print(&grid, output);
}

static int run_pins(struct session *session)
{
	owned_json *reply = NULL;
	int status = session_ask_settled(session, &asking, json_object(), &reply);

	if (status != KP_EXIT_OK)
		return status;
	const json_t *pins = json_object_get(reply, "pins");
	if (session->output.json)
		return output_json(reply);
	if (session->output.quiet) {
		field_lines(&session->output, pins, "operation");
		return KP_EXIT_OK;
	}
	if (json_array_size(pins) == 0)
		output_remark(&session->output, "nothing is pinned");
	else
		status = put_pins(&session->output, pins);
	session_remark_pending(session, reply);
	return status;
}

static const struct option pin_options[] = {
	{"force", NULL,
		"also where the kernel declares another device, trait or shape (admins)",
		false},
	{NULL, NULL, NULL, false},
};

static const struct option pins_options[] = {
	SESSION_SETTLE,
	{NULL, NULL, NULL, false},
};

const struct command pin_command = {
	.name = "pin",
	.args = "FAMILY/MODE KERNEL|SOLUTION",
	.least = 2,
	.most = 2,
	.summary = "Let a kernel or a solution run wherever it is eligible",
	.help = "Goes before rank, behind what an application asks for itself, and "
		"survives a restart. KERNEL is plugin/kernel, or the kernel's name "
		"where one plugin alone has it. A pin that is not eligible is kept and "
		"skipped: exit status 1 where that is so now, and the reason. Never "
		"runs what is disabled or has failed, also with --force.",
	.options = pin_options,
	.run = run_pin,
};

const struct command unpin_command = {
	.name = "unpin",
	.args = "FAMILY/MODE",
	.least = 1,
	.most = 1,
	.summary = "Take a pin back",
	.help = "The rank decides again. Exits 0 also where nothing was pinned.",
	.run = run_unpin,
};

const struct command pins_command = {
	.name = "pins",
	.args = "",
	.summary = "List what is pinned, and whether it applies",
	.help = "SELECTED is what runs for a request that fits the pinned kernel's "
		"signatures. With --quiet the operations alone.",
	.options = pins_options,
	.run = run_pins,
};
