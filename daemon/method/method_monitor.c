/* SPDX-License-Identifier: MIT */
/* Monitor: every event from now on, or from where somebody left off. */
#include "daemon/method/method.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/event.h"
#include "daemon/monitor.h"
#include "daemon/state/pinned.h"
#include "lib/base/json.h"
#include "lib/protocol/message.h"

/*
 * A reader that has so much left to read gets no more until it has read that: until then
 * it is in the ring, for all of them.
 */
enum { UNREAD_MOST = 32 << 10 };

struct monitor {
	struct monitor *previous, *next;
	struct monitors *monitors;
	struct call *call;
	uint64_t told;	 /* the last event that was told, or is left out */
	bool is_telling; /* what comes meanwhile is part of it */
};

struct monitors {
	struct daemon *daemon;
	struct monitor *first;
	/* The event that was told last, as all are told of it. */
	struct {
		uint64_t sequence, last;
		char *message;
		size_t size;
	} ready;
};

/* ---- replies ----------------------------------------------------------------- */

static json_t *plugins_json(const struct kp_registry *registry)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < kp_registry_count(registry); i++)
		list = kp_json_append(list,
			kp_registry_plugin_json(registry, kp_registry_name(registry, i)));
	return list;
}

static json_t *present_json(struct daemon *daemon)
{
	daemon_table(daemon);
	return json_pack("{s:o, s:o, s:I}", "plugins", plugins_json(daemon->registry),
		"pins", pinned_list(daemon), "generation",
		(json_int_t)daemon->generation.number);
}

/* Where it stands; takes event and present, NULL: none. */
static json_t *reply_json(
	const struct daemon *daemon, json_t *event, json_t *unknown, json_t *present)
{
	return json_pack("{s:s, s:I, s:o, s:b, s:o, s:o}", "boot",
		events_boot(daemon->events), "sequence",
		(json_int_t)events_last(daemon->events), "event",
		event ? event : json_null(), "gap", present != NULL, "unknown",
		unknown ? unknown : json_null(), "present",
		present ? present : json_null());
}

/* unknown: how many were missed, NULL where nobody knows. The rest is not told. */
static void tell_gap(struct monitor *monitor, json_t *unknown)
{
	struct daemon *daemon = monitor->monitors->daemon;
	json_t *present = present_json(daemon);

	if (!present) {
		json_decref(unknown);
		return;
	}
	monitor->told = events_last(daemon->events);
	call_reply_continues(monitor->call, reply_json(daemon, NULL, unknown, present));
}

/*
 * Makes the text of an event that is in the ring, unless it is the one that is there:
 * most who watch are told the same at the same time. False: it is not to be had.
 */
static bool make_ready(struct monitors *monitors, uint64_t sequence)
{
	const struct events *events = monitors->daemon->events;

	if (monitors->ready.message && monitors->ready.sequence == sequence &&
		monitors->ready.last == events_last(events))
		return true;
	json_t *event = events_json(events, sequence);
	json_t *reply =
		event ? reply_json(monitors->daemon, event, json_integer(0), NULL) : NULL;
	free(monitors->ready.message);
	monitors->ready.message =
		reply ? kp_reply_print(reply, true, &monitors->ready.size) : NULL;
	json_decref(reply);
	if (!monitors->ready.message)
		return false;
	monitors->ready.sequence = sequence;
	monitors->ready.last = events_last(events);
	return true;
}

/*
 * All that the ring has for it, as far as it reads. What is there now is told once all
 * before it is read: it is much, and would be old.
 */
static void tell_events(struct monitor *monitor)
{
	struct daemon *daemon = monitor->monitors->daemon;
	const struct events *events = daemon->events;

	while (monitor->told < events_last(events) &&
		call_unread(monitor->call) < UNREAD_MOST) {
		uint64_t missed = events_last(events) - monitor->told;
		if (events_lost(events, monitor->told) > 0) {
			if (call_unread(monitor->call) > 0)
				return;
			tell_gap(monitor, json_integer((json_int_t)missed));
			return;
		}
		if (make_ready(monitor->monitors, ++monitor->told))
			call_reply_continues_message(monitor->call,
				monitor->monitors->ready.message,
				monitor->monitors->ready.size);
	}
}

static void tell(struct monitor *monitor)
{
	if (monitor->is_telling)
		return;
	monitor->is_telling = true;
	tell_events(monitor);
	monitor->is_telling = false;
}

static void on_drained(void *context)
{
	tell(context);
}

static void on_added(void *context)
{
	struct monitors *monitors = context;

	for (struct monitor *at = monitors->first; at; at = at->next)
		tell(at);
}

/* ---- coming and going -------------------------------------------------------- */

static void on_gone(void *context)
{
	struct monitor *monitor = context;

	*(monitor->previous ? &monitor->previous->next : &monitor->monitors->first) =
		monitor->next;
	if (monitor->next)
		monitor->next->previous = monitor->previous;
	free(monitor);
}

/* From where it goes on; the first reply says so. */
static void begin(struct monitor *monitor, const json_t *parameters)
{
	struct daemon *daemon = monitor->monitors->daemon;
	const struct events *events = daemon->events;
	const char *boot = kp_json_text(parameters, "boot");
	const json_t *since = json_object_get(parameters, "since");
	json_int_t from = json_integer_value(since);
	bool is_ours = !boot || strcmp(boot, events_boot(events)) == 0;

	monitor->told = events_last(events);
	if ((json_is_integer(since) || boot) &&
		(!is_ours || !json_is_integer(since) ||
			(uint64_t)from > events_last(events))) {
		tell_gap(monitor, NULL);
		return;
	}
	if (json_is_integer(since))
		monitor->told = (uint64_t)from;
	if (events_lost(events, monitor->told) == 0)
		call_reply_continues(
			monitor->call, reply_json(daemon, NULL, json_integer(0), NULL));
	tell(monitor);
}

static void monitor(struct daemon *daemon, struct call *call)
{
	struct monitors *monitors = daemon->monitors;
	const json_t *since = json_object_get(call_parameters(call), "since");
	struct monitor *new;
	struct kp_diag diag;

	if (!call_wants_more(call)) {
		call_fail_with(call, "org.varlink.service.ExpectedMore", json_object());
		return;
	}
	if (json_integer_value(since) < 0) {
		kp_diag_set(&diag, "bad_since", "since",
			"since is the sequence number of an event, 0 or more");
		call_fail(call, &diag, NULL);
		return;
	}
	new = malloc(sizeof(*new));
	if (!new) {
		call_reply(call, NULL);
		return;
	}
	*new = (struct monitor){
		.next = monitors->first, .monitors = monitors, .call = call};
	if (monitors->first)
		monitors->first->previous = new;
	monitors->first = new;
	call_on_gone(call, on_gone, new);
	call_on_drained(call, on_drained);
	begin(new, call_parameters(call));
}

struct monitors *monitors_new(struct daemon *daemon)
{
	struct monitors *monitors = calloc(1, sizeof(*monitors));

	if (!monitors)
		return NULL;
	monitors->daemon = daemon;
	events_on_added(daemon->events, on_added, monitors);
	return monitors;
}

bool monitors_are_there(const struct monitors *monitors)
{
	return monitors && monitors->first;
}

void monitors_free(struct monitors *monitors)
{
	if (monitors)
		free(monitors->ready.message);
	free(monitors);
}

const struct method method_monitor[] = {
	{"Monitor", ROLE_OBSERVER, monitor},
	{NULL, ROLE_ADMIN, NULL},
};
