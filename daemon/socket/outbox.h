/* SPDX-License-Identifier: MIT */
/* Messages that wait for a socket to take them, each with its descriptors. */
#ifndef KP_DAEMON_OUTBOX_H
#define KP_DAEMON_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>

enum { OUTBOX_FDS = 4 }; /* of one message */

/* Zero it first. */
struct outbox {
	struct out *first, *last;
	size_t unsent; /* bytes */
};

/*
 * Takes the message (malloc'ed), also on failure; descriptors are duplicated. False: no
 * memory, or no descriptor left.
 */
bool outbox_add(struct outbox *outbox, char *message, size_t size, const int *fds,
	size_t n_fds) __attribute__((warn_unused_result));
/* What the socket takes now: 0, or -1 when nothing more will be sent. */
int outbox_flush(struct outbox *outbox, int socket);
void outbox_finish(struct outbox *outbox);

#endif
