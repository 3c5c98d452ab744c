/* SPDX-License-Identifier: MIT */
/*
 * What went wrong in applications, as far as it is known: kept in memory and in
 * incidents.json of the state directory, bounded for each user. Loop thread only. Knows
 * neither how a crash is judged nor what follows from it.
 */
#ifndef KP_DAEMON_INCIDENTS_H
#define KP_DAEMON_INCIDENTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/diag.h"

struct daemon;
struct incidents;
struct strikes;

enum {
	INCIDENTS_MOST = 512,
	INCIDENTS_OF_USER = 128,     /* then that user's oldest gives way */
	INCIDENT_EVIDENCE = 4 << 10, /* bytes; more is left out */
	INCIDENT_TEXT = 1 << 10,
	INCIDENT_LABEL = 64,
	INCIDENT_NAME = 64,
	INCIDENTS_SAME_S = 60, /* one that is as the last of its kind is the same */
};

/* What whoever adds one says; strings are cleaned and cut. */
struct incident {
	const char *kind;	 /* crash, unattributed, error, numeric */
	const char *kernel;	 /* "plugin/kernel", or NULL */
	const char *application; /* its name, or NULL */
	const char *signal;	 /* "SIGSEGV", or NULL */
	const char *label;	 /* of the site, or NULL */
	const char *text;	 /* a sentence; without numbers that differ each time */
	const json_t *evidence;	 /* an object, or NULL; borrowed */
	pid_t pid;
	unsigned uid;
	bool is_operator; /* then it is everybody's business */
};

/* NULL for want of memory. */
struct incidents *incidents_new(struct daemon *daemon);
/*
 * Reads what an earlier plugind has kept; what is damaged is set aside and told in
 * *warnings. Once the state directory is open.
 */
void incidents_load(struct incidents *incidents, struct kp_diags *warnings);
/* Writes what is not on the disk yet, before the state closes. NULL is fine in both. */
void incidents_close(struct incidents *incidents);
void incidents_free(struct incidents *incidents);

/*
 * Keeps it, counts it as one more of its kind, logs it and tells those who watch. Its
 * number, or 0 when memory is exhausted.
 */
int64_t incidents_add(struct incidents *incidents, const struct incident *incident);

/* Who asks, and for what. NULL, 0: all. */
struct incidents_question {
	bool is_operator;
	unsigned uid;
	const char *name, *kind;
	int64_t since, limit, id;
};
/*
 * The Incidents of the interface, the latest first, a new array: those that this user may
 * see. *total: how many there are without the limit. NULL for want of memory.
 */
json_t *incidents_json(const struct incidents *incidents,
	const struct incidents_question *question, int64_t *total);

/* Of the library that has the kernel ("plugin/kernel") now, borrowed; "": not known. */
const char *incidents_digest(struct daemon *daemon, const char *kernel);
/* Which kernels struck whom; kept with the incidents. */
struct strikes *incidents_strikes(struct incidents *incidents);
/* Something is to be written, soon. */
void incidents_changed(struct incidents *incidents);

#endif
