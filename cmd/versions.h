/* SPDX-License-Identifier: MIT */
/* What pluginctl and plugind say where they do not understand each other. */
#ifndef CMD_VERSIONS_H
#define CMD_VERSIONS_H

#include "cmd/session.h"

/*
 * "; pluginctl is 0.1.0 (protocol 1), plugind 0.3.0 (protocol 3)": asks plugind.
 * malloc'ed; NULL where memory is exhausted.
 */
char *versions_say(const struct session *session);

#endif
