/* SPDX-License-Identifier: MIT */
/* The command line, taken apart by the tables of options. Contacts nobody. */
#ifndef CMD_ARGUMENTS_H
#define CMD_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/diag.h"

struct command;

/* A row of a table that ends with a NULL name. */
struct option {
	const char *name;  /* without its dashes */
	const char *value; /* what the value is called in the help; NULL: a flag */
	const char *help;
	bool repeats; /* each one counts; otherwise there is at most one */
};

extern const struct option global_options[];
/* Of every command that works offline; most are plugind's own. */
extern const struct option offline_options[];

struct given_option {
	const struct option *option;
	const char *value; /* "" of a flag */
};

struct arguments {
	const struct command *command; /* NULL: none named */
	size_t n_words, n_given;
	const char **words; /* without the command */
	struct given_option *given;
};

/*
 * Options may stand before and behind words; those of a command behind its name.
 * `--` ends them. Codes unknown_command, unknown_option (nearest offered),
 * missing_value, empty_value, unexpected_value, repeated_option, missing_argument,
 * unexpected_argument, needs_offline, not_offline, usage, not_utf8, no_memory. *arguments
 * is the caller's to finish also when it fails, and holds what was understood.
 */
int arguments_parse(int argc, char **argv, struct arguments *arguments,
	struct kp_diag *diag) __attribute__((warn_unused_result));
void arguments_finish(struct arguments *arguments);

bool arguments_has(const struct arguments *arguments, const char *option);
/* The value (of an option that repeats: the first), or NULL. */
const char *arguments_value(const struct arguments *arguments, const char *option);
/* The value of the next one from *at on, which it moves behind it; NULL: no more. */
const char *arguments_next(
	const struct arguments *arguments, const char *option, size_t *at);

#endif
