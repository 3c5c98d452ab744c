/* SPDX-License-Identifier: MIT */
/*
 * recvmsg and send on a uv_poll_t: libuv's own stream would queue any number of
 * descriptors that a peer sends along.
 */
#include "daemon/socket/client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "daemon/daemon.h"
#include "daemon/incident/quarantine.h"
#include "daemon/socket/call.h"
#include "daemon/socket/disposal.h"
#include "daemon/socket/outbox.h"
#include "daemon/socket/wire.h"
#include "lib/protocol/frame.h"
#include "lib/protocol/message.h"

enum {
	UNSENT_MOST = 64 << 20,	 /* then the client is cut off */
	UNSENT_HIGH = 1 << 20,	 /* then its next call waits */
	CALLS_A_TURN = 32,	 /* then others have theirs */
	DISCARD_MOST = 64 << 20, /* read and dropped after an error that ends it */
};

struct client {
	uv_poll_t poll;
	struct daemon *daemon;
	int fd;
	int events; /* that are polled for */
	enum role role;
	unsigned uid;
	pid_t pid;
	uint64_t heard_ms; /* when it last sent something; at first: when it came */
	bool refused;
	struct kp_diag refusal;
	void (*closed)(void *context, struct client *client);
	void *context;
	struct kp_frame in;
	struct call *call; /* under way */
	const char *asked; /* its text while it is in `in`, or NULL */
	size_t asked_size;
	struct outbox out;
	size_t discarded;
	struct wire_fds fds; /* that came with what is in `in` */
	bool has_frames;     /* there may be a whole message in `in` */
	bool ended;	     /* the peer sends no more */
	bool half;	     /* seen while a call is under way: do not look again */
	bool last_call;	     /* nothing more is served: drop what comes, flush, end */
	bool running;	     /* in run_calls */
	bool broken;	     /* to be closed */
	bool closing;
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

/* Polls for what can be done now, and for nothing else: events are by level. */
static void poll_again(struct client *client)
{
	int events = client->out.first || client->has_frames ? UV_WRITABLE : 0;

	if (client->closing)
		return;
	if (client->call)
		events |= client->ended || client->half ? 0 : UV_DISCONNECT;
	else if (!client->ended && client->out.unsent < UNSENT_HIGH)
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
	poll_again(client);
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
		poll_again(client);
}

void client_send(struct client *client, char *message, size_t size)
{
	client_send_with(client, message, size, NULL, 0);
}

void client_keep(struct client *client, const char *message, size_t size, uint64_t *count)
{
	if (client->asked && !quarantine_has_own(client->daemon, client->uid))
		answers_keep(&client->daemon->generation.answers, client->asked,
			client->asked_size, message, size, count);
}

/* Sends what was answered to the same call before; false when nothing was. */
static bool send_kept(struct client *client, const char *text, size_t size)
{
	struct daemon *daemon = client->daemon;
	size_t length = 0;

	/* Before there is another generation nobody need have one for an answer. */
	if (daemon->is_behind || kp_registry_is_dirty(daemon->registry))
		return false;
	daemon_table(daemon);
	if (quarantine_has_own(daemon, client->uid))
		return false;
	const char *kept = answers_find(&daemon->generation.answers, text, size, &length);
	if (!kept)
		return false;
	/* In one piece as a rule: only what the socket does not take is copied. */
	ssize_t n = client->out.first
			    ? 0
			    : send(client->fd, kept, length, MSG_NOSIGNAL | MSG_DONTWAIT);
	size_t sent = n > 0 ? (size_t)n : 0;
	if (sent == length)
		return true;
	char *rest = malloc(length - sent);
	if (rest)
		memcpy(rest, kept + sent, length - sent);
	client_send(client, rest, length - sent);
	return true;
}

/* ---- bytes in ---- */

static void refuse_as(
	struct client *client, const char *error, const struct kp_diag *diag)
{
	size_t size = 0;
	json_t *parameters = kp_diag_json(diag);
	bool has_nearest = strcmp(error, KP_INTERFACE ".InvalidArgument") == 0;
	char *text = NULL;

	if (parameters && (!has_nearest || json_object_set_new(parameters, "nearest",
						   json_null()) == 0))
		text = kp_error_print(error, parameters, &size);
	json_decref(parameters);
	client_send(client, text, size);
}

static void refuse(struct client *client, const struct kp_diag *diag)
{
	refuse_as(client, KP_INTERFACE ".InvalidArgument", diag);
}

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
	struct kp_diag diag;

	(void)role_refuse(NULL, "sending a file descriptor",
		&(struct role_held){client->role, client->uid}, ROLE_ADMIN, &diag);
	client->last_call = client->ended = true;
	refuse_as(client, kp_error_name(diag.code), &diag);
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
		refuse(client, &diag);
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

/* ---- calls ---- */

static void run_method(struct client *client, struct call *call,
	const struct kp_call_message *message, const char *text, size_t size)
{
	client->asked = text;
	client->asked_size = size;
	method_run(client->daemon, call, message->method);
	client->asked = NULL;
}

/* Who reads the reply sees them closed. */
static void refuse_fds(struct client *client, struct wire_fds *fds, const char *which)
{
	struct kp_diag diag;

	wire_fds_close(fds);
	kp_diag_set(&diag, "unexpected_descriptor", NULL,
		"%s came with this call, which takes %s", which,
		strcmp(which, "a file descriptor") == 0 ? "none" : "no such number");
	refuse(client, &diag);
}

/* Takes those of *fds that the call is to have. */
static void serve(
	struct client *client, const char *text, size_t size, struct wire_fds *fds)
{
	struct kp_call_message message;
	struct kp_diag diag;

	if (fds->count == 0 && !client->refused && send_kept(client, text, size))
		return;
	if (kp_call_parse(text, size, &message, &diag) < 0) {
		refuse(client, &diag);
		return;
	}
	if (fds->count > 0 && !method_takes_files(message.method)) {
		refuse_fds(client, fds, "a file descriptor");
		kp_call_message_finish(&message);
		return;
	}
	struct call *call = call_new(client, &message, fds);
	client->call = call;
	if (!call)
		client_close(client);
	else if (client->refused) {
		client->last_call = true;
		call_fail(call, &client->refusal, NULL);
	} else
		run_method(client, call, &message, text, size);
	kp_call_message_finish(&message);
}

static void start_call(struct client *client, const char *text, size_t size)
{
	struct wire_fds fds = client->fds;
	struct kp_diag diag;

	client->fds = (struct wire_fds){.count = 0};
	if (size > KP_MESSAGE_BYTES) {
		kp_diag_set(&diag, "message_too_large", NULL,
			"a call of %zu bytes, at most %d are read", size,
			KP_MESSAGE_BYTES);
		refuse(client, &diag);
	} else if (fds.excess) {
		refuse_fds(client, &fds, "more than 4 file descriptors");
	} else {
		serve(client, text, size, &fds);
	}
	wire_fds_close(&fds);
}

/* Serves the whole messages that are here, in order, one at a time. */
static void run_calls(struct client *client)
{
	client->running = true;
	for (int turn = 0; turn < CALLS_A_TURN; turn++) {
		size_t size;
		if (client->closing || client->broken || client->call ||
			client->last_call || client->out.unsent >= UNSENT_HIGH)
			break;
		const char *text = kp_frame_next(&client->in, &size);
		client->has_frames = text != NULL;
		if (!text)
			break;
		start_call(client, text, size);
	}
	client->running = false;
	if (client->last_call)
		client->has_frames = false;
	if (!client->closing && client->ended && !client->call && !client->has_frames &&
		!client->out.first)
		client_close(client);
	poll_again(client);
}

void client_answered(struct client *client)
{
	client->call = NULL;
	client->half = false;
	if (!client->running && !client->closing) {
		client->has_frames = true;
		/* From the loop, not from inside whoever answered. */
		poll_again(client);
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
		run_calls(client);
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
	if (options->refusal) {
		client->refused = true;
		client->refusal = *options->refusal;
	}
	poll_again(client);
	return client;
}
