/* SPDX-License-Identifier: MIT */
/* Connecting to plugind, sending a call and waiting for its replies. */
#include "lib/protocol/client.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/owned.h"
#include "lib/base/place.h"
#include "lib/protocol/descriptors.h"
#include "lib/protocol/dial.h"
#include "lib/protocol/frame.h"
#include "lib/protocol/send.h"
#include "lib/protocol/trust.h"

struct kp_client {
	int fd;
	int timeout_ms;
	int stop;    /* ends waits when it can be read; negative: none */
	bool broken; /* replies can no longer be told apart */
	char *path;
	struct kp_frame frame;
	bool keeps; /* what comes along is for kp_client_take_fd */
	struct kp_descriptors kept;
};

enum { SENT_AT_ONCE = 1 << 20 };

/* ---- connecting -------------------------------------------------------------- */

/* Takes the descriptor. */
static int wrap(int fd, const char *path, int timeout_ms, struct kp_client **client,
	struct kp_diag *diag)
{
	struct kp_client *new = calloc(1, sizeof(*new));
	char *copy = strdup(path);
	if (!new || !copy) {
		free(new);
		free(copy);
		(void)close(fd);
		return kp_diag_no_memory(diag);
	}
	*new = (struct kp_client){
		.fd = fd,
		.timeout_ms = timeout_ms,
		.stop = -1,
		.path = copy,
		.frame.limit = KP_REPLY_BYTES,
	};
	*client = new;
	return 0;
}

/* Nothing listens where it would: how to begin. */
static int nobody(const char *tried, struct kp_diag *diag)
{
	const char *place = secure_getenv("XDG_RUNTIME_DIR");
	const char *lack = !place ? "not set" : place[0] != '/' ? "not absolute" : NULL;

	return kp_diag_set(diag, "no_daemon", "plugind",
		"no plugind listens at %s; start a private one with `plugind`, or that "
		"of the machine with `plugind --system`%s%s%s",
		tried, lack ? "; XDG_RUNTIME_DIR is " : "", lack ? lack : "",
		lack ? ": a private one that was started where it is, in a login "
		       "session, listens elsewhere"
		     : "");
}

/* The one place that somebody named. */
static int open_named(
	const char *path, int timeout_ms, struct kp_client **client, struct kp_diag *diag)
{
	struct kp_diag own;
	int fd = kp_dial(path, timeout_ms, &own);
	if (fd >= 0)
		return wrap(fd, path, timeout_ms, client, diag);
	if (strcmp(own.code, "no_daemon") == 0)
		return kp_diag_set(
			diag, "no_daemon", path, "no plugind listens at %s", own.message);
	if (diag)
		*diag = own;
	return -1;
}

/* The system's, then the user's. */
static int open_default(int timeout_ms, struct kp_client **client, struct kp_diag *diag)
{
	char tried[2048] = "";
	for (int system = 1; system >= 0; system--) {
		struct kp_diag own;
		owned_text path = kp_place_socket(system);
		if (!path)
			return kp_diag_no_memory(diag);
		int fd = kp_dial(path, timeout_ms, &own);
		if (fd >= 0)
			return wrap(fd, path, timeout_ms, client, diag);
		if (strcmp(own.code, "no_daemon") != 0) {
			if (diag)
				*diag = own;
			return -1;
		}
		size_t used = strlen(tried);
		(void)snprintf(tried + used, sizeof(tried) - used, "%s%s",
			used ? " or " : "", own.message);
	}
	return nobody(tried, diag);
}

/* Whoever names a place knows who is there; to what is found others may have come first.
 */
static int open_trusted(int timeout_ms, struct kp_client **client, struct kp_diag *diag)
{
	struct kp_client *found;
	uid_t owner;

	if (open_default(timeout_ms, &found, diag) < 0)
		return -1;
	if (kp_client_trust(found, &owner, diag) < 0) {
		kp_client_close(found);
		return -1;
	}
	*client = found;
	return 0;
}

int kp_client_open(
	const char *path, int timeout_ms, struct kp_client **client, struct kp_diag *diag)
{
	const char *named = path ? path : secure_getenv("KPLUG_SOCKET");
	if (named && *named)
		return open_named(named, timeout_ms, client, diag);
	return open_trusted(timeout_ms, client, diag);
}

void kp_client_close(struct kp_client *client)
{
	if (!client)
		return;
	(void)close(client->fd);
	kp_frame_finish(&client->frame);
	kp_descriptors_finish(&client->kept);
	free(client->path);
	free(client);
}

int kp_client_peer(const struct kp_client *client, uid_t *uid, struct kp_diag *diag)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	if (getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return kp_diag_set(diag, "io_error", client->path,
			"who listens at %s cannot be found out: %s", client->path,
			strerror(errno));
	*uid = peer.uid;
	return 0;
}

const char *kp_client_path(const struct kp_client *client)
{
	return client->path;
}

void kp_client_set_timeout(struct kp_client *client, int timeout_ms)
{
	client->timeout_ms = timeout_ms;
}

void kp_client_set_stop(struct kp_client *client, int fd)
{
	client->stop = fd;
}

void kp_client_keep_fds(struct kp_client *client)
{
	client->keeps = true;
}

int kp_client_socket(const struct kp_client *client)
{
	return client->fd;
}

int kp_client_take_fd(struct kp_client *client)
{
	return kp_descriptors_take(&client->kept);
}

/* ---- calling ----------------------------------------------------------------- */

static int64_t deadline_of(const struct kp_client *client)
{
	return client->timeout_ms < 0 ? INT64_MAX : kp_clock_ms() + client->timeout_ms;
}

static int disconnected(struct kp_client *client, const char *why, struct kp_diag *diag)
{
	client->broken = true;
	return kp_diag_set(diag, "disconnected", client->path,
		"plugind at %s ended the connection: %s", client->path, why);
}

static int wait_for(
	struct kp_client *client, short events, int64_t deadline, struct kp_diag *diag)
{
	struct pollfd wanted[] = {{.fd = client->fd, .events = events},
		{.fd = client->stop, .events = POLLIN}};
	for (;;) {
		int64_t left = deadline == INT64_MAX ? -1 : deadline - kp_clock_ms();
		if (deadline != INT64_MAX && left < 0)
			left = 0;
		int n = poll(wanted, 2, left > INT32_MAX ? INT32_MAX : (int)left);
		if (n > 0 && wanted[1].revents) {
			client->broken = true;
			return kp_diag_set(diag, "interrupted", client->path,
				"the wait for plugind at %s was ended", client->path);
		}
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return disconnected(client, strerror(errno), diag);
		if (n == 0 && kp_clock_ms() >= deadline)
			break;
	}
	client->broken = true;
	return kp_diag_set(diag, "timed_out", client->path,
		"plugind at %s did not answer within %g s", client->path,
		client->timeout_ms / 1000.0);
}

/* What is left of a call; the descriptors go with its first bytes. */
struct outgoing {
	const char *text;
	size_t size, n_fds;
	const int *fds;
};

/*
 * A peer that has closed may have said why before: what is there is read, so
 * a broken pipe is no failure yet.
 */
static int send_all(struct kp_client *client, struct outgoing *out, int64_t deadline,
	struct kp_diag *diag)
{
	while (out->size > 0) {
		size_t piece = out->size < SENT_AT_ONCE ? out->size : SENT_AT_ONCE;
		ssize_t n = kp_send(client->fd, out->text, piece, out->fds, out->n_fds);
		if (n >= 0) {
			out->text += n;
			out->size -= (size_t)n;
			out->n_fds = 0;
		} else if (errno == EAGAIN) {
			if (wait_for(client, POLLOUT, deadline, diag) < 0)
				return -1;
		} else if (errno == EPIPE || errno == ECONNRESET) {
			return 0;
		} else if (errno != EINTR) {
			return disconnected(client, strerror(errno), diag);
		}
	}
	return 0;
}

/* EPROTO: of kp_descriptors_receive. */
static const char *receive_failed(void)
{
	return errno == EPROTO ? "no descriptor is free for what came with a reply; is "
				 "the limit of open files (RLIMIT_NOFILE) reached?"
			       : strerror(errno);
}

/* Reads once. */
static int receive(struct kp_client *client, int64_t deadline, struct kp_diag *diag)
{
	char *space;
	size_t size;
	struct kp_diag own;
	if (kp_frame_space(&client->frame, &space, &size, &own) < 0) {
		client->broken = true;
		if (strcmp(own.code, "no_memory") == 0)
			return kp_diag_no_memory(diag);
		return kp_diag_set(diag, "bad_reply", client->path, "plugind at %s: %s",
			client->path, own.message);
	}
	for (;;) {
		ssize_t n = client->keeps ? kp_descriptors_receive(&client->kept,
						    client->fd, space, size)
					  : recv(client->fd, space, size, MSG_DONTWAIT);
		if (n > 0) {
			kp_frame_filled(&client->frame, (size_t)n);
			return 0;
		}
		if (n == 0)
			return disconnected(client, "end of file", diag);
		if (errno == EAGAIN) {
			if (wait_for(client, POLLIN, deadline, diag) < 0)
				return -1;
		} else if (errno != EINTR) {
			return disconnected(client, receive_failed(), diag);
		}
	}
}

static int next_text(struct kp_client *client, int64_t deadline, const char **text,
	size_t *size, struct kp_diag *diag)
{
	while (!(*text = kp_frame_next(&client->frame, size)))
		if (receive(client, deadline, diag) < 0)
			return -1;
	return 0;
}

static int parse(struct kp_client *client, const char *text, size_t size,
	struct kp_reply_message *reply, struct kp_diag *diag)
{
	struct kp_diag own;
	if (kp_reply_parse(text, size, reply, &own) == 0)
		return 0;
	client->broken = true;
	if (strcmp(own.code, "no_memory") == 0)
		return kp_diag_no_memory(diag);
	return kp_diag_set(diag, "bad_reply", client->path,
		"what plugind at %s answered is not a reply: %s", client->path,
		own.message);
}

static int next_reply(struct kp_client *client, int64_t deadline,
	struct kp_reply_message *reply, struct kp_diag *diag)
{
	const char *text;
	size_t size;
	if (next_text(client, deadline, &text, &size, diag) < 0)
		return -1;
	return parse(client, text, size, reply, diag);
}

/* `out` has the descriptors of the call, if any. */
static int start(struct kp_client *client, const char *method, const json_t *parameters,
	bool more, struct outgoing *out, int64_t deadline, struct kp_diag *diag)
{
	char name[256];
	if (client->broken)
		return disconnected(client, "an earlier call failed", diag);
	(void)snprintf(name, sizeof(name), "%s%s",
		strchr(method, '.') ? "" : KP_INTERFACE ".", method);
	owned_text text = kp_call_print(name, parameters, more, &out->size);
	if (!text)
		return kp_diag_no_memory(diag);
	out->text = text;
	return send_all(client, out, deadline, diag);
}

static int call_text(struct kp_client *client, const char *method,
	const json_t *parameters, struct outgoing *out, const char **text, size_t *size,
	struct kp_diag *diag)
{
	int64_t deadline = deadline_of(client);
	if (start(client, method, parameters, false, out, deadline, diag) < 0)
		return -1;
	return next_text(client, deadline, text, size, diag);
}

int kp_client_call_text(struct kp_client *client, const char *method,
	const json_t *parameters, const char **text, size_t *size, struct kp_diag *diag)
{
	struct outgoing out = {.n_fds = 0};
	return call_text(client, method, parameters, &out, text, size, diag);
}

int kp_client_parse(struct kp_client *client, const char *text, size_t size,
	struct kp_reply_message *reply, struct kp_diag *diag)
{
	struct kp_reply_message got;
	if (parse(client, text, size, &got, diag) < 0)
		return -1;
	if (got.continues) {
		kp_reply_message_finish(&got);
		client->broken = true;
		return kp_diag_set(diag, "bad_reply", client->path,
			"plugind at %s announced more replies to a call for one",
			client->path);
	}
	*reply = got;
	return 0;
}

int kp_client_call_fds(struct kp_client *client, const char *method,
	const json_t *parameters, const int *fds, size_t n_fds,
	struct kp_reply_message *reply, struct kp_diag *diag)
{
	struct outgoing out = {.fds = fds, .n_fds = n_fds};
	const char *text;
	size_t size;
	if (call_text(client, method, parameters, &out, &text, &size, diag) < 0)
		return -1;
	return kp_client_parse(client, text, size, reply, diag);
}

int kp_client_call(struct kp_client *client, const char *method, const json_t *parameters,
	struct kp_reply_message *reply, struct kp_diag *diag)
{
	return kp_client_call_fds(client, method, parameters, NULL, 0, reply, diag);
}

int kp_client_call_more(struct kp_client *client, const char *method,
	const json_t *parameters, struct kp_reply_message *reply, struct kp_diag *diag)
{
	struct outgoing out = {.n_fds = 0};
	int64_t deadline = deadline_of(client);
	if (start(client, method, parameters, true, &out, deadline, diag) < 0)
		return -1;
	return next_reply(client, deadline, reply, diag);
}

int kp_client_next(
	struct kp_client *client, struct kp_reply_message *reply, struct kp_diag *diag)
{
	if (client->broken)
		return disconnected(client, "an earlier call failed", diag);
	return next_reply(client, deadline_of(client), reply, diag);
}
