/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is to measure: one benchmark or verification at a time, since a second
 * would disturb it. In the loop thread.
 */
#ifndef KP_DAEMON_BENCH_TURN_H
#define KP_DAEMON_BENCH_TURN_H

#include <stdbool.h>

struct call;
struct daemon;

/*
 * Calls `run` once every plugin has its verdict, 60 s from now at the latest: what has
 * none would be left out, and nobody would know. While another is under way the call
 * fails with bench_busy; one whose client has left is over as soon as its worker is, and
 * is waited for. `run` begins with bench_turn_is_free; its context is NULL.
 */
void bench_turn_wait(struct daemon *daemon, struct call *call,
	void (*run)(struct daemon *daemon, struct call *call, void *context));

/* False, and the call has failed, where another came first. */
bool bench_turn_is_free(const struct daemon *daemon, struct call *call);

/* daemon->bench is over and NULL: whoever waits for its end is next. */
void bench_turn_next(struct daemon *daemon);

#endif
