/* SPDX-License-Identifier: MIT */
/* How a process that is no child of ours ended, as far as the kernel tells. */
#ifndef KP_DAEMON_ENDING_H
#define KP_DAEMON_ENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* known: signal (0: none) and, without one, status hold. */
struct ending {
	bool known;
	int signal;
	int status; /* of exit(3) */
};

/*
 * By a pidfd of a process that is dead. Not known: the kernel is older than 6.15, or its
 * parent has not waited for it yet and we may not look at it.
 */
struct ending ending_of(int pidfd, pid_t pid);

/* Does the default of this signal dump core, so that it is a crash? */
bool ending_is_crash(int signal);
/* "SIGSEGV", or "signal 99" in `space`. */
enum { ENDING_NAME = 32 };
const char *ending_name(int signal, char space[ENDING_NAME]);

#endif
