/* SPDX-License-Identifier: MIT */
/* Parsing of the command line. */
#include "cmd/arguments.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "lib/base/text.h"

enum { OFFERED = 64 };

const struct option global_options[] = {
	{"socket", "PATH",
		"socket of plugind; else $KPLUG_SOCKET, else /run/kplug/plugind.sock, "
		"else, where nothing listens there, $XDG_RUNTIME_DIR/kplug/plugind.sock",
		false},
	{"offline", NULL,
		"ask no plugind that runs, but a private one that ends with the command",
		false},
	{"json", NULL, "print one JSON document", false},
	{"timeout", "S",
		"seconds to wait for an answer, above 0 (default 30; commands that wait "
		"for work have no limit)",
		false},
	{"quiet", NULL,
		"or -q: print the answer alone: names, ids, nothing where the exit "
		"status says it",
		false},
	{"help", NULL, "or -h: explain pluginctl, or the command", false},
	{"version", NULL, "print the version of pluginctl", false},
	{NULL, NULL, NULL, false},
};

const struct option offline_options[] = {
	{"manifest-dir", "DIR", "a layer of manifests, highest first", true},
	{"plugin-dir", "DIR", "where libraries without a path are", false},
	{"families-dir", "DIR", "contracts of operations", false},
	{"worker", "PATH", "the plugin-worker to run", false},
	{"platform", "FILE", "devices from a JSON file instead of this machine's", false},
	{"state-dir", "DIR",
		"take decisions from there, not from where plugind of this machine keeps "
		"them",
		false},
	{NULL, NULL, NULL, false},
};

static const struct option *find_in(
	const struct option *table, const char *name, size_t size)
{
	for (; table && table->name; table++)
		if (strlen(table->name) == size && memcmp(table->name, name, size) == 0)
			return table;
	return NULL;
}

/* Who mistypes keeps the first letter, or types a part. */
static size_t offer(
	const struct option *table, const char *typed, const char **names, size_t count)
{
	for (; table && table->name && count < OFFERED; table++)
		if (table->name[0] == typed[0] || strstr(table->name, typed))
			names[count++] = table->name;
	return count;
}

/* "disable", "select, why": whose the option is; "" for nobody's. */
static const char *owners(const char *name, char *text, size_t size)
{
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; commands[i]; i++)
		if (find_in(commands[i]->options, name, strlen(name)))
			used = kp_text_add(text, size, used, "%s%s", used ? ", " : "",
				commands[i]->name);
	return text;
}

static int unknown_option(const struct arguments *arguments, const char *word,
	size_t size, struct kp_diag *diag)
{
	char name[64];
	const char *names[OFFERED];
	char whose[128];
	const struct command *command = arguments->command;
	(void)kp_text_clean_bytes(word, size, name, sizeof(name));
	const char *typed = name + strspn(name, "-");
	size_t count = offer(global_options, typed, names, 0);
	count = offer(command ? command->options : NULL, typed, names, count);
	count = offer(!command || command->offline ? offline_options : NULL, typed, names,
		count);
	const char *nearest = kp_text_nearest(typed, names, count);
	const char *where = command ? "" : " before a command";
	if (*owners(typed, whose, sizeof(whose)))
		return kp_diag_set(diag, "unknown_option", name,
			"unknown option %s%s; it belongs to %s", name, where, whose);
	if (nearest)
		return kp_diag_set(diag, "unknown_option", name,
			"unknown option %s%s; did you mean --%s?", name, where, nearest);
	return kp_diag_set(diag, "unknown_option", name,
		"unknown option %s%s; see `pluginctl help%s%s`", name, where,
		command ? " " : "", command ? command->name : "");
}

/* What a letter is short for; any other word is itself. */
static const char *long_word(const char *word)
{
	static const char *const letters[][2] = {{"-h", "--help"}, {"-q", "--quiet"}};
	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if (strcmp(letters[i][0], word) == 0)
			return letters[i][1];
	return word;
}

static const struct option *find_option(
	const struct arguments *arguments, const char *name, size_t size)
{
	const struct option *option = NULL;
	if (size <= 2 || strncmp(name, "--", 2) != 0)
		return NULL;
	option = find_in(global_options, name + 2, size - 2);
	if (!option && arguments->command)
		option = find_in(arguments->command->options, name + 2, size - 2);
	if (!option && (!arguments->command || arguments->command->offline))
		option = find_in(offline_options, name + 2, size - 2);
	return option;
}

/* A flag may be said again; two values of what has one would hide each other. */
static int add_given(struct arguments *arguments, const struct option *option,
	const char *value, struct kp_diag *diag)
{
	if (option->value && !*value)
		return kp_diag_set(diag, "empty_value", option->name,
			"the option --%s has an empty value", option->name);
	for (size_t i = 0; i < arguments->n_given; i++)
		if (arguments->given[i].option == option && option->value &&
			!option->repeats)
			return kp_diag_set(diag, "repeated_option", option->name,
				"the option --%s is given twice", option->name);
	arguments->given[arguments->n_given++] = (struct given_option){option, value};
	return 0;
}

/* Takes an option at argv[*at] and, where it has one, its value behind. */
static int take_option(
	int argc, char **argv, int *at, struct arguments *arguments, struct kp_diag *diag)
{
	const char *word = argv[*at];
	const char *name = long_word(word);
	const char *equals = strchr(name, '=');
	size_t size = equals ? (size_t)(equals - name) : strlen(name);
	const struct option *option = find_option(arguments, name, size);
	if (!option)
		return unknown_option(arguments, name, size, diag);
	if (equals && !option->value)
		return kp_diag_set(diag, "unexpected_value", word,
			"the option --%s takes no value", option->name);
	const char *value = equals ? equals + 1 : "";
	if (option->value && !equals) {
		if (*at + 1 >= argc)
			return kp_diag_set(diag, "missing_value", word,
				"the option --%s needs its %s", option->name,
				option->value);
		value = argv[++*at];
	}
	return add_given(arguments, option, value, diag);
}

static int take_word(const char *word, struct arguments *arguments, struct kp_diag *diag)
{
	if (arguments->command) {
		arguments->words[arguments->n_words++] = word;
		return 0;
	}
	arguments->command = command_find(word);
	if (arguments->command)
		return 0;
	const char *nearest = command_nearest(word);
	if (nearest)
		return kp_diag_set(diag, "unknown_command", word,
			"unknown command %s; did you mean %s?", word, nearest);
	return kp_diag_set(diag, "unknown_command", word,
		"unknown command %s; see `pluginctl help`", word);
}

static int check_words(const struct arguments *arguments, struct kp_diag *diag)
{
	const struct command *command = arguments->command;
	if (!command || arguments_has(arguments, "help"))
		return 0;
	if (arguments->n_words < command->least)
		return kp_diag_set(diag, "missing_argument", command->name,
			"%s is missing; usage: pluginctl %s %s",
			arguments->n_words ? "an argument" : command->args, command->name,
			command->args);
	if (arguments->n_words > command->most)
		return kp_diag_set(diag, "unexpected_argument",
			arguments->words[command->most],
			"unexpected argument %s; usage: pluginctl %s%s%s",
			arguments->words[command->most], command->name,
			command->args[0] ? " " : "", command->args);
	for (size_t i = 0; i < arguments->n_words && !command->takes_empty; i++)
		if (!*arguments->words[i])
			return kp_diag_set(diag, "empty_value", command->name,
				"%s has an empty value", command->args);
	return 0;
}

/* A command may have one of the same name, with a meaning of its own. */
static bool is_offline(const struct option *option)
{
	for (const struct option *row = offline_options; row->name; row++)
		if (row == option)
			return true;
	return false;
}

/* Options that only a private plugind can obey, and commands that it cannot do. */
static int check_offline(const struct arguments *arguments, struct kp_diag *diag)
{
	const struct command *command = arguments->command;
	if (arguments_has(arguments, "offline")) {
		if (command && !command->offline)
			return kp_diag_set(diag, "not_offline", command->name,
				"%s asks the plugind that runs; --offline has none",
				command->name);
		if (arguments_has(arguments, "socket"))
			return kp_diag_set(diag, "usage", "offline",
				"--socket asks a plugind that runs, --offline does not: "
				"give one of them");
		return 0;
	}
	for (size_t i = 0; i < arguments->n_given; i++)
		if (is_offline(arguments->given[i].option))
			return kp_diag_set(diag, "needs_offline",
				arguments->given[i].option->name,
				"--%s is for --offline; a plugind that runs has its own",
				arguments->given[i].option->name);
	return 0;
}

int arguments_parse(
	int argc, char **argv, struct arguments *arguments, struct kp_diag *diag)
{
	bool options = true;
	*arguments = (struct arguments){
		.words = calloc((size_t)argc + 1, sizeof(*arguments->words)),
		.given = calloc((size_t)argc + 1, sizeof(*arguments->given)),
	};
	if (!arguments->words || !arguments->given)
		return kp_diag_no_memory(diag);
	for (int i = 1; i < argc; i++)
		if (!kp_text_is_utf8(argv[i], strlen(argv[i])))
			return kp_diag_set(diag, "not_utf8", argv[i],
				"the argument %s is not UTF-8", argv[i]);
	for (int i = 1; i < argc; i++) {
		bool is_option = options && argv[i][0] == '-' && argv[i][1];
		int result = 0;
		if (is_option && strcmp(argv[i], "--") == 0)
			options = false;
		else if (is_option)
			result = take_option(argc, argv, &i, arguments, diag);
		else
			result = take_word(argv[i], arguments, diag);
		if (result < 0)
			return -1;
	}
	return check_words(arguments, diag) < 0 ? -1 : check_offline(arguments, diag);
}

void arguments_finish(struct arguments *arguments)
{
	free(arguments->words);
	free(arguments->given);
	*arguments = (struct arguments){0};
}

const char *arguments_next(
	const struct arguments *arguments, const char *option, size_t *at)
{
	while (*at < arguments->n_given) {
		const struct given_option *given = &arguments->given[(*at)++];
		if (strcmp(given->option->name, option) == 0)
			return given->value;
	}
	return NULL;
}

const char *arguments_value(const struct arguments *arguments, const char *option)
{
	size_t at = 0;
	return arguments_next(arguments, option, &at);
}

bool arguments_has(const struct arguments *arguments, const char *option)
{
	size_t at = 0;
	return arguments_next(arguments, option, &at) != NULL;
}
