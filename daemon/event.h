/* SPDX-License-Identifier: MIT */
/*
 * What has happened, for those who watch: the last events in a ring, and the calls of
 * Monitor that get each one. Loop thread only. Everything here does nothing while
 * daemon->events is NULL; an event that is lost to want of memory is a gap.
 */
#ifndef KP_DAEMON_EVENT_H
#define KP_DAEMON_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/diag.h"

struct call;
struct daemon;
struct events;
struct kp_change;

enum { EVENTS_MOST = 1024, EVENTS_NO_UID = -1 };

/* NULL for want of memory, or of a random number for the boot. */
struct events *events_new(void);
void events_free(struct events *events); /* NULL is fine */

/* Of this start of the daemon: 32 hexadecimal digits. */
const char *events_boot(const struct events *events);
uint64_t events_last(const struct events *events);
/* How many after `since` are not in the ring any more. */
uint64_t events_lost(const struct events *events, uint64_t since);
/* The Event of a sequence number that is in the ring: a new reference, or NULL. */
json_t *events_json(const struct events *events, uint64_t sequence);

/* `added` is called after every event. */
void events_on_added(struct events *events, void (*added)(void *context), void *context);

/* What happens until event_cause_end was caused by a client of this user. */
void event_cause_begin(struct daemon *daemon, unsigned uid);
void event_cause_end(struct daemon *daemon);

void event_state(struct daemon *daemon, const struct kp_change *change);
/* If the generation is another one than that of the last such event. */
void event_generation(struct daemon *daemon);
/* object: a solution or a choice, or NULL. */
void event_decision(struct daemon *daemon, const char *kind, const char *name,
	const char *object, const char *message);
/* kind: load, unload, reload, damage. */
void event_note(struct daemon *daemon, const char *kind, const char *name,
	const char *code, const char *message);
/* A call that changes something, or would have; code and message: why it was refused. */
struct audit_event {
	const char *method, *name, *object;
	const char *before, *after;
	const char *code, *message;
	const char *user;
	unsigned uid;
	pid_t pid;
};
void event_audit(struct daemon *daemon, const struct audit_event *audit);
/* Those of the list that say that a file of ours was damaged. */
void event_damage(struct daemon *daemon, const struct kp_diag *diag);

#endif
