/* SPDX-License-Identifier: MIT */
/* What attached applications do about a decision: who obeys, who holds what. */
#ifndef CMD_HOLDS_H
#define CMD_HOLDS_H

#include <jansson.h>
#include <stddef.h>

#include "cmd/session.h"

/* "graph of x86/mm (2), plan of x86/mm", of the holds that are off, or all; malloc'ed. */
char *holds_print(const json_t *client, bool all);

/* Says after a Disable who holds what it turned off, and who has yet to obey. */
void holds_put(const struct session *session, const json_t *reply);

/*
 * Waits until no application holds what was turned off: this plugin or kernel; NULL:
 * anything. reply, of the Disable, then has the clients as they are. KP_EXIT_OK, or the
 * status of what it printed: still_held after the time of the session.
 */
int holds_wait(struct session *session, const char *name, json_t *reply)
	__attribute__((warn_unused_result));

#define HOLDS_WAIT_OPTION                                                                \
	{                                                                                \
		"wait", NULL,                                                            \
			"until no application holds it (a captured graph, a plan, a "    \
			"prepared weight), at most --timeout or 30 s",                   \
			false                                                            \
	}

#endif
