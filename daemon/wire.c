/* SPDX-License-Identifier: MIT */
/* recvmsg(2) that keeps no descriptor. */
#include "daemon/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FDS_MOST = 253 /* SCM_MAX_FD */ };

static void close_foreign(struct msghdr *message, bool *foreign)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			(void)close(fd);
		}
		*foreign = true;
	}
	if (message->msg_flags & MSG_CTRUNC)
		*foreign = true;
}

ssize_t wire_receive(int fd, char *space, size_t size, bool *foreign)
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
	close_foreign(&message, foreign);
	return n;
}
