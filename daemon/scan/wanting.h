/* SPDX-License-Identifier: MIT */
/*
 * Plugins that this machine lacked something for, room or memory: no stamp of a file will
 * tell when it is there again, so that each scan has them tried.
 */
#ifndef KP_DAEMON_WANTING_H
#define KP_DAEMON_WANTING_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/plugin/verdict.h"

struct kp_registry;

/* A verdict has come: is its plugin to be tried again? `wanting` is a set of names. */
void wanting_note(json_t *wanting, const char *plugin, const struct kp_verdict *verdict);
/* Marks all of them for the registry's next update, and empties the set. */
bool wanting_mark(json_t *wanting, struct kp_registry *registry);

#endif
