/* SPDX-License-Identifier: MIT */
/* One epoll, one look at the clock a turn. */
#include "tests/soak/clients/crowd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 64, PIECE = 1 << 16, TURN_MS = 1000, AGAIN_MS = 100 };

int64_t crowd_now(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* xorshift64*: the same crowd does the same each time. */
uint64_t crowd_draw(struct client *client, uint64_t below)
{
	client->random ^= client->random >> 12;
	client->random ^= client->random << 25;
	client->random ^= client->random >> 27;
	return ((client->random * UINT64_C(0x2545f4914f6cdd1d)) >> 32) * below >> 32;
}

void crowd_rest(struct client *client, unsigned ms)
{
	uint64_t us = (uint64_t)ms * 500 + crowd_draw(client, (uint64_t)ms * 1000);
	client->due_ns = crowd_now() + (int64_t)us * 1000;
}

void crowd_wrong(struct crowd *crowd, const struct client *client, const char *what)
{
	if (crowd->wrong++ > 0)
		return;
	(void)snprintf(crowd->first, sizeof(crowd->first), "%s %u: %s: %.120s",
		client->kind->name, client->number, what, client->head);
}

/* ---- the socket ---------------------------------------------------------------------
 */

static void poll_for(struct crowd *crowd, struct client *client, int operation)
{
	struct epoll_event event = {
		.events = (client->reads ? EPOLLIN : 0U) | (client->out ? EPOLLOUT : 0U),
		.data.ptr = client};

	(void)epoll_ctl(crowd->epoll, operation, client->fd, &event);
}

bool crowd_connect(struct crowd *crowd, struct client *client)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", crowd->socket);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		if (fd >= 0)
			(void)close(fd);
		crowd_wrong(crowd, client, strerror(errno));
		crowd_rest(client, AGAIN_MS);
		return false;
	}
	client->fd = fd;
	client->size = 0;
	client->reads = true;
	poll_for(crowd, client, EPOLL_CTL_ADD);
	return true;
}

static void close_it(struct client *client)
{
	if (client->fd >= 0)
		(void)close(client->fd);
	client->fd = -1;
	free(client->out);
	client->out = NULL;
}

void crowd_leave(struct crowd *crowd, struct client *client, unsigned ms)
{
	(void)crowd;
	close_it(client);
	client->step = 0;
	crowd_rest(client, ms);
}

static void has_ended(struct crowd *crowd, struct client *client)
{
	close_it(client);
	crowd->cut++;
	if (client->kind->ended) {
		client->kind->ended(crowd, client);
		return;
	}
	crowd_wrong(crowd, client, "plugind has ended the connection");
	crowd_leave(crowd, client, AGAIN_MS);
}

static void flush(struct crowd *crowd, struct client *client)
{
	ssize_t n = send(client->fd, client->out + client->out_at,
		client->out_size - client->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0 && errno != EAGAIN)
		/* What it has said before it closed is still there to be read. */
		n = (ssize_t)(client->out_size - client->out_at);
	client->out_at += n > 0 ? (size_t)n : 0;
	if (client->out_at == client->out_size) {
		free(client->out);
		client->out = NULL;
	}
	poll_for(crowd, client, EPOLL_CTL_MOD);
}

void crowd_send(
	struct crowd *crowd, struct client *client, const char *bytes, size_t size)
{
	size_t left = client->out ? client->out_size - client->out_at : 0;
	char *out = malloc(left + size);

	if (!out) {
		crowd_wrong(crowd, client, "no memory for a message");
		return;
	}
	if (left)
		memcpy(out, client->out + client->out_at, left);
	memcpy(out + left, bytes, size);
	free(client->out);
	client->out = out;
	client->out_at = 0;
	client->out_size = left + size;
	flush(crowd, client);
}

void crowd_call(
	struct crowd *crowd, struct client *client, const char *method, const char *more)
{
	char text[512];
	int n = snprintf(text, sizeof(text), "{\"method\":\"org.kplug.Manager.%s\"%s%s}",
		method, more[0] ? "," : "", more);

	crowd_send(crowd, client, text, (size_t)n + 1);
}

void crowd_listen(struct crowd *crowd, struct client *client, bool reads)
{
	client->reads = reads;
	if (client->fd >= 0)
		poll_for(crowd, client, EPOLL_CTL_MOD);
}

/* ---- messages -----------------------------------------------------------------------
 */

/* So much of it is the end of a message or less; the head is kept. */
static size_t take_piece(
	struct crowd *crowd, struct client *client, const char *bytes, size_t size)
{
	const char *end = memchr(bytes, '\0', size);
	size_t n = end ? (size_t)(end - bytes) : size;
	size_t room = client->size < HEAD_BYTES - 1 ? HEAD_BYTES - 1 - client->size : 0;
	size_t kept = n < room ? n : room;

	if (kept) {
		memcpy(client->head + client->size, bytes, kept);
		client->head[client->size + kept] = '\0';
	} else if (client->size == 0) {
		client->head[0] = '\0';
	}
	client->size += n;
	if (!end)
		return size;
	client->messages++;
	client->kind->message(crowd, client);
	client->size = 0;
	return n + 1;
}

void crowd_taste(struct crowd *crowd, struct client *client, size_t most)
{
	static char room[PIECE];
	ssize_t n = recv(client->fd, room, most < PIECE ? most : PIECE, MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		has_ended(crowd, client);
		return;
	}
	int fd = client->fd;
	/* Whoever leaves is told no more. */
	for (size_t at = 0; n > 0 && at < (size_t)n && client->fd == fd;)
		at += take_piece(crowd, client, room + at, (size_t)n - at);
}

/* ---- time ---------------------------------------------------------------------------
 */

/* Milliseconds until somebody is due. */
static int do_what_is_due(struct crowd *crowd)
{
	int64_t next = crowd_now() + (int64_t)TURN_MS * 1000000;

	for (size_t i = 0; i < crowd->count; i++) {
		struct client *client = &crowd->clients[i];
		if (client->due_ns <= crowd_now()) {
			client->due_ns = INT64_MAX;
			if (client->fd >= 0 || crowd_connect(crowd, client))
				client->kind->due(crowd, client);
		}
		next = client->due_ns < next ? client->due_ns : next;
	}
	int64_t ms = (next - crowd_now() + 999999) / 1000000;
	return ms < 0 ? 0 : (int)ms;
}

void crowd_run(struct crowd *crowd, int64_t end_ns, const volatile int *ended)
{
	struct epoll_event events[EVENTS];

	while (crowd_now() < end_ns && !*ended) {
		int n = epoll_wait(crowd->epoll, events, EVENTS, do_what_is_due(crowd));
		for (int i = 0; i < n; i++) {
			struct client *client = events[i].data.ptr;
			if (client->fd >= 0 && client->out)
				flush(crowd, client);
			if (client->fd >= 0 &&
				events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
				crowd_taste(crowd, client, PIECE);
		}
	}
	for (size_t i = 0; i < crowd->count; i++)
		close_it(&crowd->clients[i]);
}
