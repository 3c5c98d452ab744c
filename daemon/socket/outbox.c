/* SPDX-License-Identifier: MIT */
/* A queue of messages. */
#include "daemon/socket/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/protocol/send.h"

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
	return kp_send(socket, out->bytes + out->sent, out->size - out->sent, out->fds,
		out->n_fds);
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
