/* SPDX-License-Identifier: MIT */
/* Help and usage, from the tables of commands and options alone. */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include "cmd/command.h"
#include "cmd/output.h"

/* What there is, to stdout; KP_EXIT_OK. */
int help_all(const struct output *output);
int help_one(const struct output *output, const struct command *command);
int help_version(const struct output *output);

/* pluginctl alone: says how to use it; KP_EXIT_USAGE. */
int help_usage(const struct output *output);

#endif
