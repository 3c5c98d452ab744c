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
		return errno == EAGAIN ? WIRE_LATER : WIRE_BROKEN;
	take_all(&message, fds);
	return n;
}

/* Without room for descriptors they are not taken, and the flag says that there are. */
static ssize_t look(int fd, char *space, size_t size, int flags, bool *barred)
{
	struct iovec iov = {space, size};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	do
		n = recvmsg(fd, &message, MSG_DONTWAIT | flags);
	while (n < 0 && errno == EINTR);
	*barred = n >= 0 && message.msg_flags & MSG_CTRUNC;
	if (n < 0)
		return errno == EAGAIN ? WIRE_LATER : WIRE_BROKEN;
	return n;
}

/* What was looked at is read and no more: behind it there may be one by now. */
ssize_t wire_receive_plain(int fd, char *space, size_t size)
{
	bool barred;
	ssize_t n = look(fd, space, size, MSG_PEEK, &barred);

	if (barred)
		return WIRE_BARRED;
	return n > 0 ? look(fd, space, (size_t)n, 0, &barred) : n;
}

/* Each look begins where the one before has ended. */
bool wire_is_plain(int fd)
{
	char space[4096];
	const int from = 0;
	bool barred;
	ssize_t n;

	if (setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &from, sizeof(from)) < 0)
		return false;
	do
		n = look(fd, space, sizeof(space), MSG_PEEK, &barred);
	while (n > 0 && !barred);
	return !barred;
}
