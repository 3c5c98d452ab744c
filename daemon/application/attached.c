/* SPDX-License-Identifier: MIT */
/* Coming, going and dying of applications. */
#include "daemon/application/attached.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/application/attached_client.h"
#include "daemon/application/attached_push.h"
#include "daemon/application/sealed.h"
#include "daemon/daemon.h"
#include "daemon/method/method.h"
#include "daemon/socket/pidfd.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/host/control.h"

enum {
	LINGER_MS = 2000, /* from the end of a connection to the news of a death */
	LINGER_MOST = 64, /* that many wait for it */
	OVERTAKEN_MS = 1000,
	OVERTAKEN_MOST = 8, /* generations in that time */
};

/* ---- the end of one ------------------------------------------------------------ */

static void application_free(struct application *application)
{
	kp_file_close(&application->slots);
	kp_file_close(&application->pidfd);
	free(application);
}

static void on_watch_closed(uv_handle_t *handle)
{
	application_free(handle->data);
}

void application_leave(struct application *application)
{
	struct attached *all = application->all;

	*(application->previous ? &application->previous->next : &all->first) =
		application->next;
	*(application->next ? &application->next->previous : &all->last) =
		application->previous;
	all->count -= application->call != NULL;
	if (application->call)
		call_on_gone(application->call, NULL, NULL);
	application->call = NULL;
	if (application->pidfd >= 0)
		uv_close((uv_handle_t *)&application->watch, on_watch_closed);
	else
		application_free(application);
}

static bool has_closed(const struct application *application)
{
	uint64_t closed = 0;
	off_t at = KP_SLOTS_BYTES + offsetof(struct kp_told, closed);

	return pread(application->slots, &closed, sizeof(closed), at) ==
		       (ssize_t)sizeof(closed) &&
	       closed != 0;
}

/* End of file comes before a death; only the pidfd tells which of both it was. */
static void on_gone(void *context)
{
	struct application *application = context;
	struct attached *all = application->all;

	application->call = NULL;
	all->count--;
	application->gone_ms = uv_now(&all->daemon->loop);
	if (all->closing || application->pidfd < 0 || has_closed(application))
		application_leave(application);
	else if (!uv_is_active((uv_handle_t *)&all->linger))
		(void)uv_timer_start(&all->linger, attached_sweep, LINGER_MS, 0);
}

void attached_sweep(uv_timer_t *timer)
{
	struct attached *all = timer->data;
	uint64_t now = uv_now(&all->daemon->loop);
	uint64_t next = 0;
	size_t waiting = 0;

	for (struct application *at = all->last, *before; at; at = before) {
		before = at->previous;
		if (at->call)
			continue;
		if (at->gone_ms + LINGER_MS <= now || ++waiting > LINGER_MOST)
			application_leave(at);
		else if (!next || at->gone_ms + LINGER_MS < next)
			next = at->gone_ms + LINGER_MS;
	}
	if (next)
		(void)uv_timer_start(timer, attached_sweep, next - now, 0);
}

static void on_death(uv_poll_t *watch, int status, int events)
{
	struct application *application = watch->data;
	struct attached *all = application->all;
	struct kp_diag gone;
	(void)events;

	kp_diag_set(&gone, "application_gone", application->name,
		"%s (pid %d), which attached, has ended", application->name,
		(int)application->pid);
	if (status >= 0 && all->died && !has_closed(application))
		all->died(
			all->context, &(struct attached_death){.name = application->name,
					      .pid = application->pid,
					      .uid = application->uid,
					      .is_operator = application->is_operator,
					      .pidfd = application->pidfd,
					      .slots = application->slots});
	/* A child of it may still have the connection: that is nobody we know. */
	struct call *call = application->call;
	application_leave(application);
	if (call)
		call_fail(call, &gone, NULL);
}

void attached_on_death(struct attached *attached,
	void (*died)(void *context, const struct attached_death *death), void *context)
{
	attached->died = died;
	attached->context = context;
}

/* ---- one that comes ------------------------------------------------------------ */

static void name_it(struct application *application, const char *name)
{
	if (name && *name)
		(void)kp_text_clean(name, application->name, sizeof(application->name));
	else
		(void)snprintf(application->name, sizeof(application->name), "pid %d",
			(int)application->pid);
}

static void watch(struct application *application)
{
	uv_loop_t *loop = &application->all->daemon->loop;

	if (application->pidfd < 0)
		return;
	if (uv_poll_init(loop, &application->watch, application->pidfd) < 0) {
		kp_file_close(&application->pidfd);
		return;
	}
	application->watch.data = application;
	(void)uv_poll_start(&application->watch, UV_READABLE, on_death);
}

static struct application *application_new(struct attached *attached, struct call *call,
	const char *name, struct kp_diag *diag)
{
	int slots = sealed_shared(
		"kplug-slots", KP_SLOTS_BYTES + sizeof(struct kp_told), diag);
	struct application *new = slots < 0 ? NULL : calloc(1, sizeof(*new));

	if (!new) {
		if (slots >= 0)
			kp_diag_no_memory(diag);
		kp_file_close(&slots);
		return NULL;
	}
	new->all = attached;
	new->call = call;
	new->uid = call_uid(call);
	new->is_operator = call_role(call) >= ROLE_OPERATOR;
	new->since = daemon_now();
	new->slots = slots;
	new->pidfd = pidfd_of_peer(call_socket(call), &new->pid);
	name_it(new, name);
	watch(new);
	return new;
}

int attached_enter(struct attached *attached, struct call *call, const char *name,
	struct kp_diag *diag)
{
	if (attached_refresh(attached, diag) < 0)
		return -1;
	struct application *new = application_new(attached, call, name, diag);
	if (!new)
		return -1;
	new->previous = attached->last;
	*(attached->last ? &attached->last->next : &attached->first) = new;
	attached->last = new;
	attached->count++;
	call_on_gone(call, on_gone, new);
	attached_greet(new);
	return 0;
}

size_t attached_count(const struct attached *attached)
{
	return attached->count;
}

int attached_may_overtake(struct attached *attached, struct kp_diag *diag)
{
	uint64_t now = uv_now(&attached->daemon->loop);

	if (now >= attached->overtaken_ms + OVERTAKEN_MS) {
		attached->overtaken_ms = now;
		attached->overtaken = 0;
	}
	if (attached->overtaken++ < OVERTAKEN_MOST)
		return 0;
	return kp_diag_set(diag, "busy", "seen",
		"too many applications have seen later generations; try again");
}

/* ---- all of them --------------------------------------------------------------- */

struct attached *attached_new(struct daemon *daemon)
{
	struct attached *attached = calloc(1, sizeof(*attached));

	if (!attached)
		return NULL;
	attached->daemon = daemon;
	attached->view.fd = -1;
	(void)uv_timer_init(&daemon->loop, &attached->push);
	(void)uv_timer_init(&daemon->loop, &attached->linger);
	attached->push.data = attached;
	attached->linger.data = attached;
	return attached;
}

void attached_close(struct attached *attached)
{
	if (!attached || attached->closing)
		return;
	attached->closing = true;
	for (struct application *at = attached->first, *next; at; at = next) {
		next = at->next;
		application_leave(at);
	}
	uv_close((uv_handle_t *)&attached->push, NULL);
	uv_close((uv_handle_t *)&attached->linger, NULL);
}

void attached_free(struct attached *attached)
{
	if (!attached)
		return;
	view_finish(&attached->view);
	free(attached);
}
