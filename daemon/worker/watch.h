/* SPDX-License-Identifier: MIT */
/*
 * Answers for a worker's system calls that its filter does not allow, from outside of its
 * process: what is told of them is no word of the plugin's.
 */
#ifndef KP_WORKER_WATCH_H
#define KP_WORKER_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { WATCH_TEXT = 200, WATCH_MOST = 32 };

struct watch {
	int gate;     /* from which the listener comes; -1 then */
	int listener; /* or -1 */
	bool landlock;
	char told[WATCH_MOST][WATCH_TEXT]; /* each is told once */
	size_t count;
};

/* What was refused: for people; deadly: the worker is to be killed, it gets no answer. */
struct watch_news {
	char text[WATCH_TEXT]; /* "it may not open sockets (socket)" or "" */
	bool deadly;
};

/* Takes over `gate`. landlock: files that are opened for writing are decided there. */
void watch_init(struct watch *watch, int gate, bool landlock);
void watch_finish(struct watch *watch);

/* To be polled for reading, or -1: one is done when the other comes. */
int watch_fd(const struct watch *watch);

/* poll found `events` there, not 0. True: *news has something that is new. */
bool watch_look(struct watch *watch, short events, struct watch_news *news);

#endif
