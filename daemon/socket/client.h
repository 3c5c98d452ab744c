/* SPDX-License-Identifier: MIT */
/*
 * One connection: bytes in, calls one after the other, bytes out, all bounded.
 * Knows no method.
 */
#ifndef KP_DAEMON_CLIENT_H
#define KP_DAEMON_CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/method/method.h"
#include "daemon/socket/role.h"
#include "lib/base/diag.h"

struct client;
struct daemon;

struct client_options {
	int fd; /* connected, non-blocking; taken */
	enum role role;
	unsigned uid;
	pid_t pid; /* of who connected; 0: not known */
	/* Not NULL: the first call is answered with this, then the connection ends. */
	const struct kp_diag *refusal;
	/* The connection is closed; the client is freed a little later. */
	void (*closed)(void *context, struct client *client);
	void *context;
};

/* Serves the connection from now on. NULL (and fd is closed) when it cannot. */
struct client *client_new(struct daemon *daemon, const struct client_options *options);

/* Ends it at once: the call under way learns that its client has gone. */
void client_close(struct client *client);

/* Queues a whole message, malloc'ed, and takes it; NULL closes the connection. */
void client_send(struct client *client, char *message, size_t size);
/* The same of bytes that stay the caller's: what the socket does not take is copied. */
void client_send_borrowed(struct client *client, const char *message, size_t size);
/* The same with descriptors, at most OUTBOX_FDS; they stay the caller's. */
void client_send_with(
	struct client *client, char *message, size_t size, const int *fds, size_t n_fds);
/*
 * The message answers this very call again, from whomever, until the generation changes.
 * Only of a call that is answered at once, and by nothing but generation and text. *count
 * grows with each such answer.
 */
void client_keep(
	struct client *client, const char *message, size_t size, uint64_t *count);
struct daemon *client_daemon(const struct client *client);
/* The call under way has had its last reply: the next may come. */
void client_answered(struct client *client);

enum role client_role(const struct client *client);
unsigned client_uid(const struct client *client);
pid_t client_pid(const struct client *client);
int client_socket(const struct client *client); /* borrowed */
/* When it last sent something (of uv_now); UINT64_MAX while it waits for a reply. */
uint64_t client_silent_since(const struct client *client);

/* Bytes that wait to be sent. */
size_t client_unread(const struct client *client);

#endif
