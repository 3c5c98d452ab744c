/* SPDX-License-Identifier: MIT */
/*
 * A listening socket that whoever started us has made, by the protocol of
 * sd_listen_fds(3): descriptors from 3 on, $LISTEN_FDS of them, for the process
 * $LISTEN_PID, named by $LISTEN_FDNAMES (separated by ':').
 */
#ifndef KP_DAEMON_SERVICE_PASSED_H
#define KP_DAEMON_SERVICE_PASSED_H

#include "lib/base/diag.h"

struct passed {
	int fd;		/* -1: none */
	char path[108]; /* where it listens */
};

/*
 * The socket, which is the caller's: the only one, or that named "plugind"; others are
 * closed. The variables leave the environment. 0 with fd -1: nothing was passed to this
 * process. Code bad_socket: none of them is ours, or it does not listen at a path.
 */
int passed_take(struct passed *passed, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
