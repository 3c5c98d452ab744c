/* SPDX-License-Identifier: MIT */
/*
 * Turns of those who may only look: all of them together have a few milliseconds of each
 * round of the loop, one after the other, so that whoever decides never waits for how
 * many they are and what they ask. Knows no client.
 */
#ifndef KP_DAEMON_TURNS_H
#define KP_DAEMON_TURNS_H

#include <stdbool.h>
#include <sys/queue.h>
#include <uv.h>

struct turns;

/* Part of who waits. Zero it. */
struct turn {
	TAILQ_ENTRY(turn) link;
	bool waits;
	void (*come)(struct turn *turn); /* no longer waiting; may wait again */
};

/* NULL when memory is exhausted. */
struct turns *turns_new(uv_loop_t *loop);
/* Nobody waits any more. NULL is fine. */
void turns_close(struct turns *turns);

/* Does anybody wait, behind whom who comes has to? */
bool turns_are_taken(const struct turns *turns);
/* Behind all others; nothing where it waits already. */
void turns_wait(struct turns *turns, struct turn *turn);
void turns_leave(struct turns *turns, struct turn *turn);

#endif
