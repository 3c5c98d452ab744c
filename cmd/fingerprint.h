/* SPDX-License-Identifier: MIT */
/* Asking for a fingerprint with its lines. */
#ifndef CMD_FINGERPRINT_H
#define CMD_FINGERPRINT_H

#include <jansson.h>

#include "cmd/session.h"

/* device NULL: all. KP_EXIT_OK, or the status of what it printed. */
int fingerprint_ask(struct session *session, const char *device, json_t **reply)
	__attribute__((warn_unused_result));

#endif
