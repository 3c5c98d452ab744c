/* SPDX-License-Identifier: MIT */
/* A call from its message to its last reply; what its handler sees is method.h. */
#ifndef KP_DAEMON_CALL_H
#define KP_DAEMON_CALL_H

#include <stdint.h>
#include <sys/types.h>

#include "daemon/method/method.h"
#include "daemon/socket/wire.h"
#include "lib/protocol/message.h"

struct audit;
struct client;

/* Takes the content of *message and *fds. NULL (and takes none) for want of memory. */
struct call *call_new(
	struct client *client, struct kp_call_message *message, struct wire_fds *fds);

/* The call's from now on: it is told how the call ends. */
void call_audit(struct call *call, struct audit *audit);
pid_t call_pid(const struct call *call);

/* *count counts this call, and each that is answered with its reply. */
void call_count(struct call *call, uint64_t *count);

/*
 * The client has left: whoever asked for it is told and the call is freed;
 * otherwise its replies go nowhere until the last.
 */
void call_leave(struct call *call);

/* The client has read all that it was sent. */
void call_drained(struct call *call);

#endif
