/* SPDX-License-Identifier: MIT */
/* The table of commands. */
#include "cmd/command.h"

#include <string.h>
#include <strings.h>

#include "lib/base/owned.h"
#include "lib/base/text.h"

const struct command *const commands[] = {
	&list_command,
	&info_command,
	&kernels_command,
	&devices_command,
	&select_command,
	&why_command,
	&bench_command,
	&verify_command,
	&disable_command,
	&enable_command,
	&is_enabled_command,
	&mask_command,
	&unmask_command,
	&pin_command,
	&unpin_command,
	&pins_command,
	&guard_command,
	&history_command,
	&rollback_command,
	&reload_command,
	&retry_command,
	&cat_command,
	&new_command,
	&install_command,
	&uninstall_command,
	&schema_command,
	&check_command,
	&doctor_command,
	&logs_command,
	&load_command,
	&unload_command,
	&monitor_command,
	&clients_command,
	&incidents_command,
	&metrics_command,
	&fingerprint_command,
	&diff_command,
	&status_command,
	&version_command,
	&help_command,
	&complete_command,
	NULL,
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) - 1 };

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* What people who come from other tools type first, and the command that does it. */
static const struct {
	const char *word, *command;
} elsewhere[] = {
	{"add", "install"},
	{"blacklist", "disable"},
	{"delete", "uninstall"},
	{"describe", "info"},
	{"events", "monitor"},
	{"explain", "why"},
	{"inspect", "info"},
	{"ls", "list"},
	{"modinfo", "info"},
	{"plugins", "list"},
	{"purge", "uninstall"},
	{"remove", "uninstall"},
	{"rescan", "reload"},
	{"restart", "reload"},
	{"rm", "uninstall"},
	{"show", "info"},
	{"test", "verify"},
	{"tail", "monitor"},
	{"top", "clients"},
	{"undo", "rollback"},
	{"update", "install"},
	{"upgrade", "install"},
	{"watch", "monitor"},
};

const char *command_nearest(const char *name)
{
	const char *names[COMMANDS];
	for (size_t i = 0; i < KP_COUNT(elsewhere); i++)
		if (strcasecmp(elsewhere[i].word, name) == 0)
			return elsewhere[i].command;
	for (size_t i = 0; i < COMMANDS; i++)
		names[i] = commands[i]->name;
	return kp_text_nearest(name, names, COMMANDS);
}
