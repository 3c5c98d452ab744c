/* SPDX-License-Identifier: MIT */
/* `pluginctl help`, `--help` and `--version`. */
#include "cmd/help.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/grid.h"
#include "cmd/session.h"
#include "lib/base/build.h"
#include "lib/base/text.h"

static const char synopsis[] = "pluginctl [OPTION]... COMMAND [ARGUMENT]...";

static const struct {
	int status;
	const char *meaning;
} statuses[] = {
	{KP_EXIT_OK, "done, or yes"},
	{KP_EXIT_NO, "no: nothing selected, an override or a pin that cannot run, not "
		     "enabled, a wrong kernel, a finding"},
	{KP_EXIT_USAGE, "the command line or what it asks for is wrong"},
	{KP_EXIT_NO_DAEMON, "no plugind at the socket"},
	{KP_EXIT_NOT_PERMITTED, "not permitted"},
	{KP_EXIT_NOT_FOUND, "no such plugin, kernel, solution or operation"},
	{KP_EXIT_TIMED_OUT, "timed out"},
	{KP_EXIT_FAILED,
		"failed: plugind, a worker, a busy bench, or writing the answer"},
};

enum { STATUSES = sizeof(statuses) / sizeof(statuses[0]), PAGE_WIDTH = 80 };

/* ---- JSON -------------------------------------------------------------------- */

static json_t *options_json(const struct option *option)
{
	json_t *list = json_array();
	for (; option && option->name; option++) {
		json_t *row = json_pack("{s:s, s:s?, s:b, s:s}", "name", option->name,
			"value", option->value, "repeats", option->repeats, "help",
			option->help);
		if (json_array_append_new(list, row) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *command_json(const struct command *command)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:o}", "name", command->name, "args",
		command->args, "summary", command->summary, "help", command->help,
		"offline", command->offline, "options", options_json(command->options));
}

/* Takes `value`. */
static int print_json(const struct output *output, json_t *value)
{
	owned_json *document = value;
	return document ? output_json(document) : output_no_memory(output);
}

static int all_json(const struct output *output)
{
	json_t *list = json_array();
	json_t *exits = json_object();
	int bad = 0;
	for (size_t i = 0; commands[i]; i++)
		bad |= json_array_append_new(list, command_json(commands[i]));
	for (size_t i = 0; i < STATUSES; i++) {
		char number[12];
		(void)snprintf(number, sizeof(number), "%d", statuses[i].status);
		bad |= json_object_set_new(
			exits, number, json_string(statuses[i].meaning));
	}
	json_t *document = json_pack("{s:s, s:o, s:o, s:o, s:o}", "usage", synopsis,
		"options", options_json(global_options), "offline_options",
		options_json(offline_options), "commands", list, "exit", exits);
	if (bad) {
		json_decref(document);
		document = NULL;
	}
	return print_json(output, document);
}

/* ---- text -------------------------------------------------------------------- */

/* Help is words: it is wrapped also where nobody says how wide the page is. */
static struct output as_page(const struct output *output)
{
	struct output page = *output;
	page.width = page.width ? page.width : PAGE_WIDTH;
	return page;
}

static int put_options(const struct output *output, const struct option *option)
{
	struct grid grid = {.columns = grid_pairs, .n_columns = 2, .indent = 2};
	for (; option && option->name; option++) {
		grid_add(&grid, TONE_PLAIN, "--%s%s%s%s", option->name,
			option->value ? " " : "", option->value ? option->value : "",
			option->repeats ? " ..." : "");
		grid_add(&grid, TONE_PLAIN, "%s", option->help);
	}
	return grid_print(&grid, output);
}

static int put_commands(const struct output *output)
{
	struct grid grid = {.columns = grid_pairs, .n_columns = 2, .indent = 2};
	for (size_t i = 0; commands[i]; i++) {
		grid_add(&grid, TONE_PLAIN, "%s", commands[i]->name);
		grid_add(&grid, TONE_PLAIN, "%s", commands[i]->summary);
	}
	return grid_print(&grid, output);
}

static int put_statuses(const struct output *output)
{
	struct grid grid = {.columns = grid_pairs, .n_columns = 2, .indent = 2};
	for (size_t i = 0; i < STATUSES; i++) {
		grid_add(&grid, TONE_PLAIN, "%d", statuses[i].status);
		grid_add(&grid, TONE_PLAIN, "%s", statuses[i].meaning);
	}
	return grid_print(&grid, output);
}

int help_all(const struct output *output)
{
	if (output->json)
		return all_json(output);
	const struct output page = as_page(output);
	output = &page;
	output_words(output, 0, "usage: %s", synopsis);
	output_words(output, 0,
		"Which compute kernels this machine has, which one runs and why, and "
		"turning them off and on.");
	output_line(output, TONE_TITLE, "%s", "");
	output_line(output, TONE_TITLE, "Commands");
	int status = put_commands(output);
	output_line(output, TONE_PLAIN, "%s", "");
	output_line(output, TONE_TITLE, "Options of every command");
	status |= put_options(output, global_options);
	output_line(output, TONE_PLAIN, "%s", "");
	output_line(output, TONE_TITLE, "Exit status");
	status |= put_statuses(output);
	output_line(output, TONE_PLAIN, "%s", "");
	output_words(output, 0,
		"`pluginctl help COMMAND` explains a command; pluginctl(1) has all of "
		"them with examples, kplug-troubleshooting(7) every code of a reason or "
		"error.");
	return status;
}

static void put_paragraphs(const struct output *output, const char *text)
{
	while (*text) {
		size_t size = strcspn(text, "\n");
		output_words(output, 0, "%.*s", (int)size, text);
		text += size + (text[size] == '\n');
	}
}

int help_one(const struct output *output, const struct command *command)
{
	if (output->json)
		return print_json(output, command_json(command));
	const struct output page = as_page(output);
	output = &page;
	output_words(output, 0, "usage: pluginctl %s%s%s%s", command->name,
		command->options ? " [OPTION]..." : "", *command->args ? " " : "",
		command->args);
	output_words(output, 0, "%s.", command->summary);
	output_line(output, TONE_PLAIN, "%s", "");
	put_paragraphs(output, command->help);
	int status = KP_EXIT_OK;
	if (command->options) {
		output_line(output, TONE_PLAIN, "%s", "");
		output_line(output, TONE_TITLE, "Options");
		status = put_options(output, command->options);
	}
	if (command->offline) {
		output_line(output, TONE_PLAIN, "%s", "");
		output_line(output, TONE_TITLE, "Options beside --offline");
		status |= put_options(output, offline_options);
	}
	output_line(output, TONE_PLAIN, "%s", "");
	output_words(output, 0, "`pluginctl --help` has the options of every command.");
	return status;
}

int help_version(const struct output *output)
{
	if (output->json)
		return print_json(
			output, json_pack("{s:s}", "version", kp_build_version));
	output_line(output, TONE_PLAIN, "pluginctl %s", kp_build_version);
	return KP_EXIT_OK;
}

int help_usage(const struct output *output)
{
	if (output->json)
		return output_refuse(
			output, "missing_command", "", "a command is missing");
	(void)output_refuse(output, "missing_command", "",
		"a command is missing; usage: %s; see `pluginctl help`", synopsis);
	return KP_EXIT_USAGE;
}

static int run(struct session *session)
{
	if (session->arguments.n_words == 0)
		return help_all(&session->output);
	const char *name = session->arguments.words[0];
	const struct command *command = command_find(name);
	if (command)
		return help_one(&session->output, command);
	char offer[KP_TEXT_OFFER];
	return output_refuse(&session->output, "unknown_command", name,
		"unknown command %s%s", name,
		kp_text_meant(command_nearest(name), offer));
}

const struct command help_command = {
	.name = "help",
	.args = "[COMMAND]",
	.most = 1,
	.summary = "Explain pluginctl, or one command",
	.help = "Asks nothing of plugind.",
	.run = run,
};
