/* SPDX-License-Identifier: MIT */
/* A list of waiting calls with their timers. */
#include "daemon/socket/wait.h"

#include <stdlib.h>

#include "daemon/daemon.h"
#include "daemon/method/method.h"

struct wait {
	uv_timer_t timer;
	struct wait *previous, *next;
	struct daemon *daemon;
	struct call *call;
	struct wait_request request;
};

static void release(const struct wait_request *request)
{
	if (request->release)
		request->release(request->context);
	else
		free(request->context);
}

static void on_closed(uv_handle_t *handle)
{
	struct wait *wait = handle->data;
	release(&wait->request);
	free(wait);
}

static void leave(struct wait *wait)
{
	struct waits *waits = &wait->daemon->waits;
	*(wait->previous ? &wait->previous->next : &waits->first) = wait->next;
	*(wait->next ? &wait->next->previous : &waits->last) = wait->previous;
	uv_close((uv_handle_t *)&wait->timer, on_closed);
}

static void on_gone(void *context)
{
	leave(context);
}

static void finish(struct wait *wait)
{
	call_on_gone(wait->call, NULL, NULL);
	leave(wait);
	wait->request.run(wait->daemon, wait->call, wait->request.context);
}

static void on_time(uv_timer_t *timer)
{
	finish(timer->data);
}

static void enter(struct wait *wait)
{
	struct waits *waits = &wait->daemon->waits;
	wait->previous = waits->last;
	*(waits->last ? &waits->last->next : &waits->first) = wait;
	waits->last = wait;
	call_on_gone(wait->call, on_gone, wait);
	if (wait->request.timeout_ms >= 0)
		(void)uv_timer_start(
			&wait->timer, on_time, (uint64_t)wait->request.timeout_ms, 0);
}

void wait_for(
	struct daemon *daemon, struct call *call, const struct wait_request *request)
{
	if (request->timeout_ms == 0 || request->is_over(daemon, request->context)) {
		request->run(daemon, call, request->context);
		release(request);
		return;
	}
	struct wait *wait = calloc(1, sizeof(*wait));
	if (!wait) {
		release(request);
		call_reply(call, NULL);
		return;
	}
	(void)uv_timer_init(&daemon->loop, &wait->timer);
	wait->timer.data = wait;
	wait->daemon = daemon;
	wait->call = call;
	wait->request = *request;
	enter(wait);
}

/*
 * Answering may start other calls and end clients: nothing is kept of the list while
 * one runs. Those that came meanwhile have looked themselves.
 */
void waits_look(struct daemon *daemon)
{
	struct wait *wait = daemon->waits.first;
	while (wait) {
		struct wait_request *request = &wait->request;
		if (request->is_over(daemon, request->context)) {
			finish(wait);
			wait = daemon->waits.first;
			continue;
		}
		if (request->changed)
			request->changed(daemon, wait->call, request->context);
		wait = wait->next;
	}
}
