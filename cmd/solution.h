/* SPDX-License-Identifier: MIT */
/* `disable`, `enable` and `is-enabled` with --solution: one operation, one solution. */
#ifndef CMD_SOLUTION_H
#define CMD_SOLUTION_H

#include <jansson.h>
#include <stdbool.h>

#include "cmd/arguments.h"

struct session;

/* The row that these commands have. */
#define SOLUTION_OPTION                                                                  \
	{                                                                                \
		"solution", "S",                                                         \
			"NAME is an operation: all its kernels of this solution, also "  \
			"those to come",                                                 \
			false                                                            \
	}

bool solution_is_asked(const struct session *session);
/* The status. */
int solution_disable(struct session *session);
int solution_enable(struct session *session);
int solution_ask(struct session *session);

/*
 * Says so where it is its solution that keeps the kernel "plugin/kernel" off, and how it
 * is enabled. `plugin` is its PluginInfo.
 */
bool solution_put_obstacle(
	const struct session *session, const char *name, const json_t *plugin);

#endif
