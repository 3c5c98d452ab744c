/* SPDX-License-Identifier: MIT */
/* The listening socket and who is connected. Knows no message. */
#ifndef KP_DAEMON_SERVER_H
#define KP_DAEMON_SERVER_H

#include <stddef.h>

#include "lib/base/diag.h"

struct daemon;
struct server;

/*
 * Takes PATH.lock, replaces a stale socket, listens. Codes already_running,
 * foreign_file (what is at the path is no socket, or somebody else's; it is
 * left alone), write_failed. Nothing but the directory is left on failure.
 */
int server_open(struct daemon *daemon, const char *path, struct server **server,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* Those that are served. */
size_t server_clients(const struct server *server);

/*
 * Removes the socket (if it is still ours) and the lock, closes every client; freed by
 * the loop. NULL is fine.
 */
void server_close(struct server *server);

#endif
