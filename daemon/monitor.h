/* SPDX-License-Identifier: MIT */
/* Those who watch the daemon: calls of Monitor, until their clients leave. */
#ifndef KP_DAEMON_MONITOR_H
#define KP_DAEMON_MONITOR_H

#include <stdbool.h>

struct daemon;
struct monitors;

/* Of daemon->events, which must be there. NULL for want of memory. */
struct monitors *monitors_new(struct daemon *daemon);
bool monitors_are_there(const struct monitors *monitors); /* NULL: no */
/* Once all clients have gone. NULL is fine. */
void monitors_free(struct monitors *monitors);

#endif
