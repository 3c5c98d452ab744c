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

/* What is read in place of bytes; 0 is the end. */
enum { WIRE_LATER = -1, WIRE_BROKEN = -2, WIRE_BARRED = -3 };

/*
 * Bytes read. Descriptors that come along are added to *fds; beyond WIRE_FDS all are
 * closed.
 */
ssize_t wire_receive(int fd, char *space, size_t size, struct wire_fds *fds);

/*
 * The same of a peer whose descriptors nobody takes. WIRE_BARRED: one is among what comes
 * next; it has been left where it is, for whoever takes it has to close it, and may not
 * come back from that (disposal.h).
 */
ssize_t wire_receive_plain(int fd, char *space, size_t size);

/*
 * Is there no descriptor in a socket that was shut down? Whoever closes it closes that,
 * too. Nothing is read: to a peer that still waits, unread bytes tell what happened.
 */
bool wire_is_plain(int fd) __attribute__((warn_unused_result));

#endif
