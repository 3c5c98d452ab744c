/* SPDX-License-Identifier: MIT */
/* What to say where no kernel can run: those that come nearest, and what is pending. */
#ifndef CMD_NEAREST_H
#define CMD_NEAREST_H

#include <jansson.h>

#include "cmd/session.h"

/* Explain, with what its reply must have. */
extern const struct question nearest_question;

/*
 * Asks plugind about a Request that nothing is eligible for and remarks the
 * candidates that fail by the fewest predicates. KP_EXIT_NO, or the status of a
 * failure that has been printed.
 */
int nearest_put(struct session *session, const json_t *request)
	__attribute__((warn_unused_result));

#endif
