/* SPDX-License-Identifier: MIT */
/* recvmsg(2) with a bound on descriptors. */
#include "daemon/socket/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FDS_MOST = 253 /* SCM_MAX_FD */ };

void wire_fds_close(struct wire_fds *fds)
{
	while (fds->count > 0)
		(void)close(fds->fds[--fds->count]);
}

static void take(struct wire_fds *fds, int fd)
{
	if (fds->count < WIRE_FDS && !fds->excess) {
		fds->fds[fds->count++] = fd;
		return;
	}
	(void)close(fd);
	wire_fds_close(fds);
	fds->excess = true;
}

static void take_all(struct msghdr *message, struct wire_fds *fds)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			take(fds, fd);
		}
	}
	if (message->msg_flags & MSG_CTRUNC) {
		wire_fds_close(fds);
		fds->excess = true;
	}
}

ssize_t wire_receive(int fd, char *space, size_t size, struct wire_fds *fds)
{
	union {
		char bytes[CMSG_SPACE(FDS_MOST * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {space, size};
	struct msghdr message = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	ssize_t n;

	do
		n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -1 : -2;
	take_all(&message, fds);
	return n;
}
