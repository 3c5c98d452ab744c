/* SPDX-License-Identifier: MIT */
/* Names as people type them: "x86", "x86/gemm_mm", "gemm/mm", one for the other. */
#ifndef CMD_NAME_H
#define CMD_NAME_H

#include <jansson.h>

#include "cmd/session.h"

/* Bytes of the plugin in "plugin/kernel", or of the whole name. */
int name_plugin_size(const char *name);

/*
 * Refuses a name with an empty part ("/mm", "x86/") and, where `whole` says what is
 * done with plugins as a whole ("retried"; may be NULL), that of a kernel. KP_EXIT_OK,
 * or the status of what it printed.
 */
int name_check(struct session *session, const char *name, const char *whole)
	__attribute__((warn_unused_result));

/*
 * session_ask about a name, which says more where it is not found: that it is an
 * operation, or that it is a plugin, and which command shows it.
 */
int name_ask(struct session *session, const struct question *question, const char *name,
	json_t *parameters, json_t **reply) __attribute__((warn_unused_result));

/*
 * The same for an error that came another way: adds to the message in `parameters`
 * where it says that nothing of this name was found.
 */
void name_explain(
	struct session *session, const char *error, json_t *parameters, const char *name);

#endif
