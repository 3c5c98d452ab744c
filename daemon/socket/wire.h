/* SPDX-License-Identifier: MIT */
/* Bytes of a connected socket, and nothing else that a peer may send along. */
#ifndef KP_DAEMON_WIRE_H
#define KP_DAEMON_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Descriptors that came along, whole or not at all. Zero it. */
enum { WIRE_FDS = 4 };
struct wire_fds {
	size_t count;
	int fds[WIRE_FDS];
	bool excess; /* more came than anybody takes: all were closed */
};
void wire_fds_close(struct wire_fds *fds);

/*
 * Bytes read, 0 at the end, -1 for later, -2 for a broken connection. Descriptors
 * that come along are added to *fds; beyond WIRE_FDS all are closed.
 */
ssize_t wire_receive(int fd, char *space, size_t size, struct wire_fds *fds);

#endif
