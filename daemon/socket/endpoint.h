/* SPDX-License-Identifier: MIT */
/* A socket that listens at a path: made and removed by us, or passed. Accepts nobody. */
#ifndef KP_DAEMON_SOCKET_ENDPOINT_H
#define KP_DAEMON_SOCKET_ENDPOINT_H

#include <sys/types.h>

#include "daemon/state/lock.h"
#include "lib/base/diag.h"

struct log;
struct options;

struct endpoint {
	int fd;	    /* -1: none */
	char *path; /* owned */
	dev_t dev;
	ino_t ino; /* of the socket that we made; 0: of none */
	struct lock lock;
};

/*
 * Takes PATH.lock, replaces a stale socket, listens. Codes already_running, foreign_file
 * (what is at the path is no socket, or somebody else's; it is left alone), write_failed.
 * Close it then, too: nothing but the directory is left.
 *
 * A socket that was passed (daemon/service/passed.h) listens already, and outlives us: no
 * lock is taken, nothing is bound, and nothing removed at the end.
 */
int endpoint_open(struct endpoint *endpoint, const struct options *options,
	struct log *log, struct kp_diag *diag) __attribute__((warn_unused_result));

/* Nobody finds it any more, if it is ours. */
void endpoint_remove(struct endpoint *endpoint);

/* Removes it and lets go of the lock; after a failure, too. */
void endpoint_close(struct endpoint *endpoint);

#endif
