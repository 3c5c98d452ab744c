/* SPDX-License-Identifier: MIT */
/* Incidents and strikes as the text of a file. */
#ifndef KP_DAEMON_INCIDENTS_FILE_H
#define KP_DAEMON_INCIDENTS_FILE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/diag.h"

struct strikes;

#define INCIDENTS_FORMAT "kplug-incidents/1"

/* What is kept: `next` is the number of the next incident. */
struct incidents_kept {
	int64_t next;
	json_t *list; /* of Incident, the oldest first; owned */
};

/* malloc'ed; NULL for want of memory. */
char *incidents_print(const struct incidents_kept *kept, const struct strikes *strikes);
/*
 * All of it or nothing: codes of kp_json_parse and kp_json_check, newer_format,
 * bad_incidents, no_memory. *kept and *strikes are untouched then.
 */
int incidents_parse(const char *text, size_t size, const char *path,
	struct incidents_kept *kept, struct strikes *strikes, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
