/* SPDX-License-Identifier: MIT */
/*
 * Gets rid of connections in which others have left descriptors. Whoever closes such a
 * socket closes those, too, and one of them may keep him for as long as its sender likes
 * (SO_LINGER). Nobody waits for a process that ends: such sockets are left to one.
 */
#ifndef KP_DAEMON_DISPOSAL_H
#define KP_DAEMON_DISPOSAL_H

#include <uv.h>

struct disposal;

/*
 * worker: the program, which holds what it inherits until its standard input ends
 * (--hold); borrowed. NULL when memory is exhausted.
 */
struct disposal *disposal_new(uv_loop_t *loop, const char *worker);
/* Before the loop runs for the last time: what waits goes at once. NULL is fine. */
void disposal_close(struct disposal *disposal);

/*
 * Closes a connected socket, which nobody uses any more: here where nothing of others is
 * in it, else a moment later, by a process that many may share.
 */
void disposal_take(struct disposal *disposal, int fd);

#endif
