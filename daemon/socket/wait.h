/* SPDX-License-Identifier: MIT */
/*
 * Calls that wait for something: the end of the first scan, a plugin's verdict.
 * Each looks again whenever the daemon has changed.
 */
#ifndef KP_DAEMON_WAIT_H
#define KP_DAEMON_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct call;
struct daemon;
struct wait;

/* Those that wait, in the order in which they came. Zero it. */
struct waits {
	struct wait *first, *last;
};

/*
 * is_over is asked at once and after every change; then, or when timeout_ms
 * have passed (negative: never), run answers the call. When the client leaves
 * neither is called. Afterwards `release` (free where it is NULL) gets the context.
 */
struct wait_request {
	int64_t timeout_ms;
	bool (*is_over)(struct daemon *daemon, void *context);
	void (*run)(struct daemon *daemon, struct call *call, void *context);
	/* Progress for calls with more; may be NULL. After every change. */
	void (*changed)(struct daemon *daemon, struct call *call, void *context);
	void (*release)(void *context);
	void *context;
};

/* Takes context, also when it fails the call for want of memory. */
void wait_for(
	struct daemon *daemon, struct call *call, const struct wait_request *request);

/* Asks all of them. */
void waits_look(struct daemon *daemon);

#endif
