/* SPDX-License-Identifier: MIT */
/* A queue of messages, and sendmsg(2). */
#include "daemon/socket/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct out {
	struct out *next;
	size_t size, sent, n_fds;
	int fds[OUTBOX_FDS]; /* ours; they go with the first byte */
	char *bytes;
};

static void close_fds(struct out *out)
{
	while (out->n_fds > 0)
		(void)close(out->fds[--out->n_fds]);
}

static void out_free(struct out *out)
{
	close_fds(out);
	free(out->bytes);
	free(out);
}

static bool take_fds(struct out *out, const int *fds, size_t n_fds)
{
	while (out->n_fds < n_fds) {
		int fd = fcntl(fds[out->n_fds], F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return false;
		out->fds[out->n_fds++] = fd;
	}
	return true;
}

bool outbox_add(
	struct outbox *outbox, char *message, size_t size, const int *fds, size_t n_fds)
{
	struct out *out = message ? malloc(sizeof(*out)) : NULL;

	if (!out) {
		free(message);
		return false;
	}
	*out = (struct out){.size = size, .bytes = message};
	if (n_fds > OUTBOX_FDS || !take_fds(out, fds, n_fds)) {
		out_free(out);
		return false;
	}
	if (outbox->last)
		outbox->last->next = out;
	else
		outbox->first = out;
	outbox->last = out;
	outbox->unsent += size;
	return true;
}

static ssize_t send_some(int socket, const struct out *out)
{
	union {
		char bytes[CMSG_SPACE(OUTBOX_FDS * sizeof(int))];
		struct cmsghdr align;
	} control = {.bytes = {0}};
	struct iovec iov = {out->bytes + out->sent, out->size - out->sent};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	size_t size = out->n_fds * sizeof(int);

	if (out->n_fds > 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(size);
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(header), out->fds, size);
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void drop_first(struct outbox *outbox)
{
	struct out *out = outbox->first;

	outbox->first = out->next;
	if (!outbox->first)
		outbox->last = NULL;
	out_free(out);
}

int outbox_flush(struct outbox *outbox, int socket)
{
	while (outbox->first) {
		struct out *out = outbox->first;
		ssize_t n = send_some(socket, out);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		close_fds(out);
		out->sent += (size_t)n;
		outbox->unsent -= (size_t)n;
		if (out->sent == out->size)
			drop_first(outbox);
	}
	return 0;
}

void outbox_finish(struct outbox *outbox)
{
	while (outbox->first)
		drop_first(outbox);
	outbox->unsent = 0;
}
