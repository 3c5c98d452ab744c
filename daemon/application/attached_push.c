/* SPDX-License-Identifier: MIT */
/*
 * The newest view for each, not more often than it is worth, and none for one who has
 * not read the one before: memory files would pile up in a socket.
 */
#include "daemon/application/attached_push.h"

#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>

#include "daemon/application/control.h"
#include "daemon/daemon.h"
#include "daemon/event.h"
#include "daemon/incident/quarantine.h"
#include "daemon/method/method.h"
#include "daemon/options.h"

enum {
	PUSH_MS = 10,	/* from one view to the next, to one client */
	AGAIN_MS = 50,	/* until it is tried again, without memory for it */
	BEHIND_MS = 50, /* until it is looked again whether a slow one has read */
};

int attached_refresh(struct attached *attached, struct kp_diag *diag)
{
	struct daemon *daemon = attached->daemon;
	const struct kp_table *table = daemon_table(daemon);
	size_t count;
	const uint32_t *numbers = control_numbers(daemon->control, &count);

	if (attached->view.fd >= 0 &&
		attached->view.generation == kp_table_generation(table))
		return 0;
	if (count != kp_table_kernels(table))
		return kp_diag_no_memory(diag);
	return view_make(&attached->view, table, numbers, diag);
}

static json_t *push_json(const struct application *application)
{
	const struct attached *all = application->all;
	bool has_own = quarantine_has_own(all->daemon, application->uid);
	json_t *without =
		has_own ? quarantine_without(all->daemon, application->uid) : NULL;

	if (has_own && !without)
		return NULL;
	return json_pack("{s:s, s:I, s:i, s:o*}", "boot",
		events_boot(all->daemon->events), "generation",
		(json_int_t)all->view.generation, "view", 0, "without", without);
}

static void is_sent(struct application *application)
{
	application->sent = application->all->view.generation;
	if (!application->began)
		application->began = application->sent;
	application->sent_ms = uv_now(&application->all->daemon->loop);
	application->behind = false;
}

void attached_greet(struct application *application)
{
	struct attached *all = application->all;
	struct daemon *daemon = all->daemon;
	const int fds[] = {
		all->view.fd, control_descriptor(daemon->control), application->slots};
	json_t *reply = push_json(application);
	json_t *more = json_pack("{s:i, s:i, s:s+, s:b}", "control", 1, "slots", 2,
		"table", daemon->options->state_dir, "/table", "transient",
		daemon->options->transient);

	if (json_object_update(reply, more) < 0) {
		json_decref(reply);
		reply = NULL;
	}
	json_decref(more);
	is_sent(application);
	if (!call_reply_with(application->call, reply, fds, 3))
		application->sent = 0;
}

/* Bytes that were sent and that the peer has not read. */
static bool is_unread(const struct application *application)
{
	int bytes = 0;

	if (call_unread(application->call) > 0)
		return true;
	return ioctl(call_socket(application->call), SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

/* Milliseconds until it is looked at again; 0: it has what there is. */
static uint64_t push_to(struct application *application)
{
	struct attached *all = application->all;
	uint64_t now = uv_now(&all->daemon->loop);

	if (!application->call || application->sent == all->view.generation)
		return 0;
	if (application->sent && now < application->sent_ms + PUSH_MS)
		return application->sent_ms + PUSH_MS - now;
	application->behind = application->sent && is_unread(application);
	if (application->behind)
		return BEHIND_MS;
	if (!call_reply_with(application->call, push_json(application), &all->view.fd, 1))
		return BEHIND_MS;
	is_sent(application);
	return 0;
}

static void on_push(uv_timer_t *timer)
{
	struct attached *attached = timer->data;
	uint64_t next = 0;
	struct kp_diag diag;

	if (!attached->first)
		return;
	if (attached_refresh(attached, &diag) < 0) {
		log_diag(&attached->daemon->log, LOG_ERROR, &diag);
		next = AGAIN_MS;
	}
	for (struct application *at = attached->first; at; at = at->next) {
		uint64_t wait = push_to(at);
		if (wait && (!next || wait < next))
			next = wait;
	}
	if (next)
		(void)uv_timer_start(timer, on_push, next, 0);
	else
		(void)uv_timer_stop(timer);
}

void attached_follow(struct attached *attached)
{
	if (attached && !attached->closing && attached->first &&
		attached->view.generation != attached->daemon->generation.number)
		(void)uv_timer_start(&attached->push, on_push, 0, 0);
}

bool attached_are_there(const struct attached *attached)
{
	return attached && !attached->closing && attached->first;
}
