/* SPDX-License-Identifier: MIT */
/* What the two halves of a client share: its bytes (client.c), its calls. */
#ifndef KP_DAEMON_CLIENT_INSIDE_H
#define KP_DAEMON_CLIENT_INSIDE_H

#include <stdbool.h>
#include <uv.h>

#include "daemon/socket/client.h"
#include "daemon/socket/outbox.h"
#include "daemon/socket/turns.h"
#include "daemon/socket/wire.h"
#include "lib/protocol/frame.h"

struct call;

enum { UNSENT_HIGH = 128 << 10 }; /* bytes; then its next call waits */

struct client {
	uv_poll_t poll;
	struct daemon *daemon;
	int fd;
	int events; /* that are polled for */
	enum role role;
	unsigned uid;
	pid_t pid;
	uint64_t heard_ms; /* when it last sent something; at first: when it came */
	bool refused;
	struct kp_diag refusal;
	void (*closed)(void *context, struct client *client);
	void *context;
	struct kp_frame in;
	struct call *call; /* under way */
	const char *asked; /* its text while it is in `in`, or NULL */
	size_t asked_size;
	struct outbox out;
	size_t discarded;
	struct wire_fds fds; /* that came with what is in `in` */
	struct turn turn;    /* of one who may only look */
	bool has_frames;     /* there may be a whole message in `in` */
	bool ended;	     /* the peer sends no more */
	bool half;	     /* seen while a call is under way: do not look again */
	bool last_call;	     /* nothing more is served: drop what comes, flush, end */
	bool running;	     /* in run_calls */
	bool broken;	     /* to be closed */
	bool closing;
};

/* Polls for what can be done now, and for nothing else: events are by level. */
void client_poll_again(struct client *client);

/* Serves the whole messages that are here, in order, one at a time; or waits for a turn.
 */
void client_run_calls(struct client *client);
/* Its turn has come. */
void client_come(struct turn *turn);
/* Answers what is no call. */
void client_refuse(struct client *client, const struct kp_diag *diag);

#endif
