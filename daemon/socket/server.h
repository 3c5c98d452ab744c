/* SPDX-License-Identifier: MIT */
/* The listening socket and who is connected. Knows no message. */
#ifndef KP_DAEMON_SERVER_H
#define KP_DAEMON_SERVER_H

#include <stddef.h>

#include "lib/base/diag.h"

struct daemon;
struct server;

/*
 * Opens the endpoint that the options name, and serves whoever comes. Codes of
 * endpoint_open.
 */
int server_open(struct daemon *daemon, struct server **server, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Where it listens; borrowed. */
const char *server_path(const struct server *server);

/* Those that are served. */
size_t server_clients(const struct server *server);

/*
 * Removes the socket (if it is still ours) and the lock, closes every client; freed by
 * the loop. NULL is fine.
 */
void server_close(struct server *server);

#endif
