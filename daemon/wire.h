/* SPDX-License-Identifier: MIT */
/* Bytes of a connected socket, and nothing else that a peer may send along. */
#ifndef KP_DAEMON_WIRE_H
#define KP_DAEMON_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Bytes read, 0 at the end, -1 for later, -2 for a broken connection. Descriptors
 * that come along are closed; *foreign is set when there were some.
 */
ssize_t wire_receive(int fd, char *space, size_t size, bool *foreign);

#endif
