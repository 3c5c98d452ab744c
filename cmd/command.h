/* SPDX-License-Identifier: MIT */
/*
 * A command: one const row of what it is called, takes and does. Parsing, usage
 * and help all come from here.
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/arguments.h"

struct session;

struct command {
	const char *name;
	const char *args;	      /* as in the usage line: "NAME" */
	size_t least, most;	      /* how many */
	const char *summary;	      /* one line */
	const char *help;	      /* paragraphs, each a line */
	const struct option *options; /* NULL: none of its own */
	bool offline;	  /* only asks: works with a plugind of its own, too */
	bool takes_empty; /* words may be empty */
	bool waits; /* for work of the daemon: no limit unless --timeout gives one */
	int (*run)(struct session *session); /* the exit status */
};

extern const struct command list_command, info_command, kernels_command, select_command,
	why_command, bench_command, verify_command, disable_command, enable_command,
	is_enabled_command, mask_command, unmask_command, reload_command, retry_command,
	status_command, version_command, help_command, cat_command, new_command,
	install_command, uninstall_command, schema_command;
extern const struct command devices_command;
extern const struct command pin_command, unpin_command, pins_command, monitor_command,
	load_command, unload_command, logs_command;
extern const struct command complete_command, metrics_command;
extern const struct command guard_command, history_command, rollback_command;
extern const struct command clients_command, fingerprint_command, diff_command;
extern const struct command incidents_command;
extern const struct command check_command, doctor_command;

/* All of them, in the order of the help; NULL-terminated. */
extern const struct command *const commands[];

const struct command *command_find(const char *name);
/* The name that was perhaps meant, or NULL. */
const char *command_nearest(const char *name);

#endif
