/* SPDX-License-Identifier: MIT */
/*
 * `pluginctl complete`: what could follow, for the completion of shells. Everything
 * comes from the table of commands; the scripts for shells know none.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/complete_source.h"
#include "cmd/session.h"

enum { PATIENCE_MS = 2000 }; /* of somebody who has pressed a key */

/* The line so far: the last word is the one that is completed. */
struct line {
	const struct command *command;
	size_t n_before;	     /* words of the command's own before the last */
	const struct option *option; /* whose value the last word is */
	bool ended;		     /* by "--": no options follow */
	const char *socket;	     /* that was named, or NULL */
	const char *first;	     /* of the command's own words, or NULL */
};

static const struct option *find(const struct option *table, const char *name)
{
	for (; table && table->name; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

static const struct option *find_option(const struct command *command, const char *name)
{
	const struct option *option = find(global_options, name);

	if (!option && command)
		option = find(command->options, name);
	if (!option && (!command || command->offline))
		option = find(offline_options, name);
	return option;
}

/* Takes in a word that others follow. */
static void read_word(struct line *line, const char *word)
{
	bool is_option = word[0] == '-' && word[1] && !line->ended;

	if (line->option) {
		if (strcmp(line->option->name, "socket") == 0)
			line->socket = word;
		line->option = NULL;
	} else if (is_option && strcmp(word, "--") == 0) {
		line->ended = true;
	} else if (is_option) {
		const struct option *option =
			word[1] == '-' ? find_option(line->command, word + 2) : NULL;
		line->option = option && option->value ? option : NULL;
	} else if (!line->command) {
		line->command = command_find(word);
	} else {
		if (line->n_before++ == 0)
			line->first = word;
	}
}

/* ---- offering -------------------------------------------------------------------- */

static void offer_table(
	struct session *session, const struct typed *typed, const struct option *table)
{
	char word[64];

	for (; table && table->name; table++) {
		(void)snprintf(word, sizeof(word), "--%s", table->name);
		complete_offer(session, typed, word, table->help);
	}
}

static int offer_options(
	struct session *session, const struct line *line, const struct typed *typed)
{
	if (line->command)
		offer_table(session, typed, line->command->options);
	offer_table(session, typed, global_options);
	if (!line->command || line->command->offline)
		offer_table(session, typed, offline_options);
	return KP_EXIT_OK;
}

/* The n-th word of the usage line; the last one where it repeats; "" for none. */
static void find_placeholder(const char *args, size_t n, char *text, size_t size)
{
	const char *end = args + strcspn(args, " ");

	while (n > 0 && *end) {
		args = end + 1;
		end = args + strcspn(args, " ");
		n--;
	}
	bool repeats = end - args >= 3 && strncmp(end - 3, "...", 3) == 0;
	(void)snprintf(
		text, size, "%.*s", n > 0 && !repeats ? 0 : (int)(end - args), args);
}

static int offer_word(
	struct session *session, const struct line *line, const struct typed *typed)
{
	char placeholder[64];

	if (!line->command) {
		for (size_t i = 0; commands[i]; i++)
			complete_offer(
				session, typed, commands[i]->name, commands[i]->summary);
		return KP_EXIT_OK;
	}
	find_placeholder(
		line->command->args, line->n_before, placeholder, sizeof(placeholder));
	return complete_from(session, typed, line->command->name, placeholder);
}

/* "--state=act": the value of an option in the same word. */
static int offer_value(struct session *session, const struct line *line, const char *word)
{
	const char *equals = strchr(word, '=');
	char name[64], before[80];

	(void)snprintf(name, sizeof(name), "%.*s", (int)(equals - word - 2), word + 2);
	(void)snprintf(before, sizeof(before), "--%s=", name);
	const struct option *option = find_option(line->command, name);
	const struct typed typed = {before, equals + 1, line->first};
	if (!option || !option->value)
		return KP_EXIT_OK;
	return complete_from(session, &typed, option->name, option->value);
}

static int run(struct session *session)
{
	const struct arguments *arguments = &session->arguments;
	struct line line = {.command = NULL};
	size_t last = arguments->n_words ? arguments->n_words - 1 : 0;
	const char *word = arguments->n_words ? arguments->words[last] : "";

	if (!session->timeout_given)
		session->timeout_ms = PATIENCE_MS;
	for (size_t i = 0; i < last; i++)
		read_word(&line, arguments->words[i]);
	const struct typed typed = {"", word, line.first};
	/* Whom the line asks knows what may stand in it. */
	if (line.socket && setenv("KPLUG_SOCKET", line.socket, 1) < 0)
		return output_no_memory(&session->output);
	if (line.option)
		return complete_from(
			session, &typed, line.option->name, line.option->value);
	if (!line.ended && strncmp(word, "--", 2) == 0 && strchr(word, '='))
		return offer_value(session, &line, word);
	if (!line.ended && word[0] == '-')
		return offer_options(session, &line, &typed);
	return offer_word(session, &line, &typed);
}

const struct command complete_command = {
	.name = "complete",
	.args = "[WORD]...",
	.most = SIZE_MAX,
	.takes_empty = true,
	.summary = "Print what could follow on the command line, for shells",
	.help = "Write -- before the words; the last one, which may be empty, is what "
		"is completed. A line a candidate, and behind \" -- \" what it is; "
		":files and :directories stand for the shell's own. Scripts for bash, "
		"zsh and fish that ask so are installed.",
	.run = run,
};
