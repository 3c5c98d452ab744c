/* SPDX-License-Identifier: MIT */
/* A call from its message to its last reply; what its handler sees is method.h. */
#ifndef KP_DAEMON_CALL_H
#define KP_DAEMON_CALL_H

#include "daemon/method.h"
#include "lib/message.h"

struct client;

/* Takes the content of *message. NULL when memory is exhausted. */
struct call *call_new(struct client *client, struct kp_call_message *message);

/*
 * The client has left: whoever asked for it is told and the call is freed;
 * otherwise its replies go nowhere until the last.
 */
void call_leave(struct call *call);

/* The client has read all that it was sent. */
void call_drained(struct call *call);

#endif
