/* SPDX-License-Identifier: MIT */
/* The process at the other end of a socket, by a descriptor that tells of its death. */
#ifndef KP_DAEMON_PIDFD_H
#define KP_DAEMON_PIDFD_H

#include <sys/types.h>

/*
 * Of a connected Unix socket: *pid is that of the process that connected, in our
 * namespace (0: it is in none that we see). The descriptor, the caller's, or -1: it has
 * died, or the kernel cannot tell it from a later one of the same number.
 */
int pidfd_of_peer(int socket, pid_t *pid);

#endif
