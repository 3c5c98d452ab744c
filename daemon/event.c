/* SPDX-License-Identifier: MIT */
/* The ring of events, and what goes into it. */
#include "daemon/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "daemon/daemon.h"
#include "lib/base/json.h"

enum { BOOT_BYTES = 16, MESSAGE_MOST = 1024 };

/* kind and method are static; the other texts are owned. */
struct event {
	uint64_t sequence; /* 0: this place is empty */
	int64_t at;
	int64_t uid; /* EVENTS_NO_UID: nobody in particular */
	uint64_t generation;
	int64_t pid; /* 0: nobody's */
	const char *kind, *method;
	char *name, *object, *from, *to, *code, *message, *user;
};

struct events {
	char boot[2 * BOOT_BYTES + 1];
	uint64_t last, generation;
	int64_t uid;
	void (*added)(void *context);
	void *context;
	struct event ring[EVENTS_MOST];
};

struct events *events_new(void)
{
	unsigned char bytes[BOOT_BYTES];
	struct events *events = calloc(1, sizeof(*events));

	if (!events || getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
		free(events);
		return NULL;
	}
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(events->boot + 2 * i, 3, "%02x", bytes[i]);
	events->uid = EVENTS_NO_UID;
	return events;
}

static void forget(struct event *event)
{
	free(event->name);
	free(event->object);
	free(event->from);
	free(event->to);
	free(event->user);
	free(event->code);
	free(event->message);
	*event = (struct event){0};
}

void events_free(struct events *events)
{
	if (!events)
		return;
	for (size_t i = 0; i < EVENTS_MOST; i++)
		forget(&events->ring[i]);
	free(events);
}

const char *events_boot(const struct events *events)
{
	return events->boot;
}

uint64_t events_last(const struct events *events)
{
	return events->last;
}

uint64_t events_lost(const struct events *events, uint64_t since)
{
	uint64_t oldest = events->last < EVENTS_MOST ? 0 : events->last - EVENTS_MOST;

	return since < oldest ? oldest - since : 0;
}

static json_t *number_or_null(bool known, int64_t number)
{
	return known ? json_integer((json_int_t)number) : json_null();
}

json_t *events_json(const struct events *events, uint64_t sequence)
{
	const struct event *e = &events->ring[sequence % EVENTS_MOST];

	if (e->sequence != sequence)
		return NULL;
	return json_pack(
		"{s:I, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:s?, s:o, "
		"s:o}",
		"sequence", (json_int_t)e->sequence, "at", (json_int_t)e->at, "kind",
		e->kind, "name", kp_json_clean_or_null(e->name), "object",
		kp_json_clean_or_null(e->object), "from", kp_json_clean_or_null(e->from),
		"to", kp_json_clean_or_null(e->to), "code",
		kp_json_clean_or_null(e->code), "message",
		kp_json_clean_or_null(e->message), "uid",
		number_or_null(e->uid >= 0, e->uid), "generation",
		(json_int_t)e->generation, "method", e->method, "user",
		kp_json_clean_or_null(e->user), "pid",
		number_or_null(e->pid > 0, e->pid));
}

void events_on_added(struct events *events, void (*added)(void *context), void *context)
{
	events->added = added;
	events->context = context;
}

/* ---- adding ------------------------------------------------------------------ */

void event_cause_begin(struct daemon *daemon, unsigned uid)
{
	if (daemon->events)
		daemon->events->uid = uid;
}

void event_cause_end(struct daemon *daemon)
{
	if (daemon->events)
		daemon->events->uid = EVENTS_NO_UID;
}

/* Sets a copy; what memory is short for is missing in the event only. */
static char *copy(const char *text)
{
	return text && text[0] ? strndup(text, MESSAGE_MOST) : NULL;
}

/* A new one in the place of the oldest; NULL: nobody keeps events. */
static struct event *begin(struct daemon *daemon, const char *kind, const char *name)
{
	struct events *events = daemon->events;

	if (!events || daemon->closing)
		return NULL;
	tally_add(&daemon->tallies.events, kind);
	struct event *event = &events->ring[++events->last % EVENTS_MOST];
	forget(event);
	event->sequence = events->last;
	event->at = daemon_now();
	event->uid = events->uid;
	event->generation = daemon->generation.number;
	event->kind = kind;
	event->name = copy(name);
	return event;
}

static void end(struct events *events)
{
	if (events->added)
		events->added(events->context);
}

void event_state(struct daemon *daemon, const struct kp_change *change)
{
	struct event *event = begin(daemon, "state", change->plugin);

	if (!event)
		return;
	event->from = change->is_new ? NULL : copy(kp_state_name(change->before));
	event->to = change->is_gone ? NULL : copy(kp_state_name(change->after));
	event->code = copy(change->code);
	event->message = copy(change->message);
	end(daemon->events);
}

void event_generation(struct daemon *daemon)
{
	struct events *events = daemon->events;

	if (!events || events->generation == daemon->generation.number)
		return;
	events->generation = daemon->generation.number;
	if (begin(daemon, "generation", NULL))
		end(events);
}

void event_decision(struct daemon *daemon, const char *kind, const char *name,
	const char *object, const char *message)
{
	struct event *event = begin(daemon, kind, name);

	if (!event)
		return;
	event->object = copy(object);
	event->message = copy(message);
	end(daemon->events);
}

void event_audit(struct daemon *daemon, const struct audit_event *audit)
{
	event_cause_begin(daemon, audit->uid);
	struct event *event = begin(daemon, "audit", audit->name);
	event_cause_end(daemon);

	if (!event)
		return;
	event->method = audit->method;
	event->object = copy(audit->object);
	event->from = copy(audit->before);
	event->to = copy(audit->after);
	event->code = copy(audit->code);
	event->message = copy(audit->message);
	event->user = copy(audit->user);
	event->pid = audit->pid;
	end(daemon->events);
}

void event_note(struct daemon *daemon, const char *kind, const char *name,
	const char *code, const char *message)
{
	struct event *event = begin(daemon, kind, name);

	if (!event)
		return;
	event->code = copy(code);
	event->message = copy(message);
	end(daemon->events);
}

void event_damage(struct daemon *daemon, const struct kp_diag *diag)
{
	static const char *const codes[] = {
		"damaged_state", "bad_decisions", "cache_damaged", "store_damaged"};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strcmp(codes[i], diag->code) == 0)
			event_note(daemon, "damage", diag->object, diag->code,
				diag->message);
}
