/* SPDX-License-Identifier: MIT */
/* A lock file: one daemon a socket and a state directory. */
#ifndef KP_DAEMON_LOCK_H
#define KP_DAEMON_LOCK_H

#include "lib/base/diag.h"

struct lock {
	int fd;	    /* -1: not held */
	char *path; /* owned */
};

/*
 * Makes the file if need be, locks it and writes our pid into it. Code
 * already_running (the message names who holds it), foreign_file (what is there
 * is not a lock of plugind and is left as it is), write_failed.
 */
int lock_take(struct lock *lock, const char *path, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Removes the file, then lets go. A lock that is not held is fine. */
void lock_drop(struct lock *lock);

#endif
