/* SPDX-License-Identifier: MIT */
/*
 * recvmsg and send on a uv_poll_t: libuv's own stream would queue any number of
 * descriptors that a peer sends along.
 */
#include "daemon/socket/client_inside.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "daemon/daemon.h"
#include "daemon/socket/call.h"
#include "daemon/socket/disposal.h"
#include "daemon/socket/outbox.h"
#include "daemon/socket/refusal.h"
#include "daemon/socket/turns.h"
#include "daemon/socket/wire.h"
#include "lib/protocol/frame.h"
#include "lib/protocol/message.h"

enum {
	UNSENT_MOST = 64 << 20,	 /* then the client is cut off */
	DISCARD_MOST = 64 << 20, /* read and dropped after an error that ends it */
};

enum role client_role(const struct client *client)
{
	return client->role;
}

unsigned client_uid(const struct client *client)
{
	return client->uid;
}

pid_t client_pid(const struct client *client)
{
	return client->pid;
}

struct daemon *client_daemon(const struct client *client)
{
	return client->daemon;
}

int client_socket(const struct client *client)
{
	return client->fd;
}

uint64_t client_silent_since(const struct client *client)
{
	return client->call || client->out.first ? UINT64_MAX : client->heard_ms;
}

size_t client_unread(const struct client *client)
{
	return client->out.unsent;
}

static void client_free(uv_handle_t *handle)
{
	struct client *client = handle->data;
	disposal_take(client->daemon->disposal, client->fd);
	kp_frame_finish(&client->in);
	wire_fds_close(&client->fds);
	outbox_finish(&client->out);
	free(client);
}

void client_close(struct client *client)
{
	if (client->closing)
		return;
	client->closing = true;
	turns_leave(client->daemon->turns, &client->turn);
	if (client->call)
		call_leave(client->call);
	client->call = NULL;
	client->closed(client->context, client);
	/* The peer learns now, not when the memory goes. */
	(void)shutdown(client->fd, SHUT_RDWR);
	uv_close((uv_handle_t *)&client->poll, client_free);
}

/* ---- bytes out ---- */

static void on_poll(uv_poll_t *poll, int status, int events);

void client_poll_again(struct client *client)
{
	bool runs = client->has_frames && !client->turn.waits;
	int events = client->out.first || runs ? UV_WRITABLE : 0;

	if (client->closing)
		return;
	if (client->call)
		events |= client->ended || client->half ? 0 : UV_DISCONNECT;
	else if (!client->ended && !client->turn.waits &&
		 client->out.unsent < UNSENT_HIGH)
		events |= UV_READABLE;
	if (client->call && !client->out.first)
		events &= ~UV_WRITABLE;
	if (client->broken)
		events = UV_READABLE | UV_WRITABLE;
	if (events == client->events)
		return;
	client->events = events;
	if (events)
		(void)uv_poll_start(&client->poll, events, on_poll);
	else
		(void)uv_poll_stop(&client->poll);
}

/* Closed from the loop, not under the feet of whoever sends. */
static void break_off(struct client *client, const char *why)
{
	if (client->broken || client->closing)
		return;
	client->broken = true;
	if (why)
		log_line(&client->daemon->log, LOG_WARNING,
			"client of uid %u: cut off: %s", client->uid, why);
	(void)shutdown(client->fd, SHUT_RDWR);
	client_poll_again(client);
}

void client_send_with(
	struct client *client, char *message, size_t size, const int *fds, size_t n_fds)
{
	if (client->closing || client->broken ||
		size > UNSENT_MOST - client->out.unsent) {
		free(message);
		break_off(client, "it does not read its replies");
		return;
	}
	if (!outbox_add(&client->out, message, size, fds, n_fds)) {
		break_off(client, "memory or descriptors are exhausted");
		return;
	}
	if (outbox_flush(&client->out, client->fd) < 0)
		break_off(client, NULL);
	else if (!client->running)
		client_poll_again(client);
}

void client_send(struct client *client, char *message, size_t size)
{
	client_send_with(client, message, size, NULL, 0);
}

void client_send_borrowed(struct client *client, const char *message, size_t size)
{
	bool is_next = !client->out.first && !client->closing && !client->broken;
	ssize_t n = is_next ? send(client->fd, message, size, MSG_NOSIGNAL | MSG_DONTWAIT)
			    : 0;
	size_t sent = n > 0 ? (size_t)n : 0;

	if (sent == size)
		return;
	char *rest = malloc(size - sent);
	if (rest)
		memcpy(rest, message + sent, size - sent);
	client_send(client, rest, size - sent);
}

/* ---- bytes in ---- */

/* Descriptors are taken of those alone who may load a file. */
static ssize_t receive(struct client *client, char *space, size_t size)
{
	return client->role == ROLE_ADMIN
		       ? wire_receive(client->fd, space, size, &client->fds)
		       : wire_receive_plain(client->fd, space, size);
}

/* What it sends next cannot be read without its descriptor: it is told so, and leaves. */
static void bar(struct client *client)
{
	const struct role_held held = {client->role, client->uid};
	size_t size = 0;

	client->last_call = client->ended = true;
	char *text = refusal_of_files(&held, &size);
	client_send(client, text, size);
}

static void discard(struct client *client)
{
	char space[16384];
	ssize_t n = receive(client, space, sizeof(space));

	if (n > 0)
		client->discarded += (size_t)n;
	if (n == 0)
		client->ended = true;
	if (n == WIRE_BROKEN || n == WIRE_BARRED || client->discarded > DISCARD_MOST)
		client_close(client);
}

static void read_some(struct client *client)
{
	struct kp_diag diag;
	char *space;
	size_t size;

	if (client->last_call) {
		discard(client);
		return;
	}
	if (kp_frame_space(&client->in, &space, &size, &diag) < 0) {
		client->last_call = true;
		client_refuse(client, &diag);
		return;
	}
	ssize_t n = receive(client, space, size);
	if (n == WIRE_BROKEN) {
		client_close(client);
	} else if (n == WIRE_BARRED) {
		bar(client);
	} else if (n == 0) {
		client->ended = true;
	} else if (n > 0) {
		client->heard_ms = uv_now(&client->daemon->loop);
		kp_frame_filled(&client->in, (size_t)n);
		client->has_frames = true;
	}
}

/* A peer that only stopped sending still wants its reply. */
static void look_whether_gone(struct client *client)
{
	struct pollfd p = {.fd = client->fd};
	if (poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR))
		client_close(client);
	else
		client->half = true;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct client *client = poll->data;

	if (client->closing)
		return;
	if (status < 0 || client->broken || outbox_flush(&client->out, client->fd) < 0) {
		client_close(client);
		return;
	}
	if (client->call && !client->out.first)
		call_drained(client->call);
	if (events & UV_DISCONNECT && client->call)
		look_whether_gone(client);
	if (events & UV_READABLE && !client->call && !client->closing)
		read_some(client);
	if (!client->closing)
		client_run_calls(client);
}

struct client *client_new(struct daemon *daemon, const struct client_options *options)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client || uv_poll_init(&daemon->loop, &client->poll, options->fd) < 0) {
		disposal_take(daemon->disposal, options->fd);
		free(client);
		return NULL;
	}
	client->poll.data = client;
	client->daemon = daemon;
	client->fd = options->fd;
	client->role = options->role;
	client->uid = options->uid;
	client->pid = options->pid;
	client->heard_ms = uv_now(&daemon->loop);
	client->closed = options->closed;
	client->context = options->context;
	client->in.limit = KP_MESSAGE_BYTES;
	client->turn.come = client_come;
	if (options->refusal) {
		client->refused = true;
		client->refusal = *options->refusal;
	}
	client_poll_again(client);
	return client;
}
