/* SPDX-License-Identifier: MIT */
/* Accepting, and who is refused or closed for another's sake. */
#include "daemon/socket/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "daemon/daemon.h"
#include "daemon/options.h"
#include "daemon/socket/client.h"
#include "daemon/socket/company.h"
#include "daemon/socket/disposal.h"
#include "daemon/socket/endpoint.h"
#include "daemon/socket/role.h"
#include "daemon/socket/room.h"

enum {
	ACCEPTS_A_TURN = 16,
	PAUSE_MS = 100,
	SWEEP_MS = 1000,
};

struct server {
	uv_poll_t poll;
	uv_timer_t pause; /* when descriptors are exhausted */
	uv_timer_t sweep; /* while there are refused ones */
	int open_handles;
	struct daemon *daemon;
	struct endpoint endpoint;
	struct role_policy policy;
	struct room room;
	struct company *company; /* NULL: it lives without clients, too */
};

size_t server_clients(const struct server *server)
{
	return server->room.served;
}

/* ---- who comes ---- */

static void on_client_closed(void *context, struct client *client)
{
	struct server *server = context;
	room_leave(&server->room, client);
	company_count(server->company, server->room.served);
}

static void on_sweep(uv_timer_t *timer)
{
	struct server *server = timer->data;
	struct room *room = &server->room;
	struct client *overdue;

	while ((overdue = room_overdue(room, uv_now(&server->daemon->loop))))
		client_close(overdue);
	if (room->count == room->served)
		(void)uv_timer_stop(timer);
}

static int judge(struct server *server, int fd, struct client_options *options,
	struct kp_diag *diag)
{
	struct room *room = &server->room;
	struct peer peer;

	if (peer_read(fd, &peer, diag) < 0)
		return -1;
	int result = role_of(&server->policy, &peer, &options->role, diag);
	options->uid = peer.uid;
	options->pid = peer.pid;
	peer_finish(&peer);
	if (result < 0 || room_has_place(room, options->role, options->uid, diag) == 0)
		return result;
	struct client *silent = room_most_silent(
		room, options->role, options->uid, uv_now(&server->daemon->loop));
	if (!silent)
		return -1;
	client_close(silent);
	return room_has_place(room, options->role, options->uid, diag);
}

static void take_up(struct server *server, const struct client_options *options)
{
	struct guest guest = {client_new(server->daemon, options), options->role,
		options->uid, options->refusal != NULL, uv_now(&server->daemon->loop)};

	if (!guest.client)
		return;
	room_enter(&server->room, &guest);
	company_count(server->company, server->room.served);
	if (guest.refused && !uv_is_active((uv_handle_t *)&server->sweep))
		(void)uv_timer_start(&server->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
}

static void serve(struct server *server, int fd)
{
	struct kp_diag diag;
	struct client_options options = {
		.fd = fd, .closed = on_client_closed, .context = server};

	if (judge(server, fd, &options, &diag) < 0)
		options.refusal = &diag;
	if (options.refusal && !room_can_refuse(&server->room))
		disposal_take(server->daemon->disposal, fd);
	else
		take_up(server, &options);
}

static void listen_again(uv_timer_t *timer);
static void on_connection(uv_poll_t *poll, int status, int events);

static void pause_listening(struct server *server, const char *why)
{
	log_line(&server->daemon->log, LOG_WARNING, "%s: cannot accept: %s",
		server->endpoint.path, why);
	(void)uv_poll_stop(&server->poll);
	(void)uv_timer_start(&server->pause, listen_again, PAUSE_MS, 0);
}

static void listen_again(uv_timer_t *timer)
{
	struct server *server = timer->data;
	(void)uv_poll_start(&server->poll, UV_READABLE, on_connection);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
	struct server *server = poll->data;
	(void)events;

	if (status < 0) {
		pause_listening(server, uv_strerror(status));
		return;
	}
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		int fd = accept4(
			server->endpoint.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			serve(server, fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
			errno == ENOBUFS)
			pause_listening(server, strerror(errno));
		if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
}

/* ---- life ---- */

/* Those who have come and were not let in. At a socket that was passed they wait on. */
static void turn_away(struct server *server)
{
	int fd;

	if (!server->endpoint.ino)
		return;
	(void)shutdown(server->endpoint.fd, SHUT_RDWR);
	while ((fd = accept4(server->endpoint.fd, NULL, NULL,
			SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
		disposal_take(server->daemon->disposal, fd);
}

static void server_free(struct server *server)
{
	endpoint_close(&server->endpoint);
	free(server);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct server *server = handle->data;
	if (--server->open_handles == 0)
		server_free(server);
}

void server_close(struct server *server)
{
	if (!server)
		return;
	turn_away(server);
	endpoint_remove(&server->endpoint);
	company_close(server->company);
	server->company = NULL;
	while (server->room.count > 0)
		client_close(server->room.guests[server->room.count - 1].client);
	uv_close((uv_handle_t *)&server->poll, on_handle_closed);
	uv_close((uv_handle_t *)&server->pause, on_handle_closed);
	uv_close((uv_handle_t *)&server->sweep, on_handle_closed);
}

const char *server_path(const struct server *server)
{
	return server->endpoint.path;
}

static int start_polling(struct server *server, struct kp_diag *diag)
{
	uv_loop_t *loop = &server->daemon->loop;
	int result = uv_poll_init(loop, &server->poll, server->endpoint.fd);

	if (result < 0)
		return kp_diag_set(diag, "io_error", server->endpoint.path,
			"cannot poll %s: %s", server->endpoint.path, uv_strerror(result));
	(void)uv_timer_init(loop, &server->pause);
	(void)uv_timer_init(loop, &server->sweep);
	server->poll.data = server;
	server->pause.data = server;
	server->sweep.data = server;
	server->open_handles = 3;
	(void)uv_poll_start(&server->poll, UV_READABLE, on_connection);
	return 0;
}

int server_open(struct daemon *daemon, struct server **out, struct kp_diag *diag)
{
	bool system = daemon->options->system;
	struct server *server = calloc(1, sizeof(*server));

	if (!server)
		return kp_diag_no_memory(diag);
	server->daemon = daemon;
	role_policy_init(&server->policy, system);
	server->room.shared = system;
	if (endpoint_open(&server->endpoint, daemon->options, &daemon->log, diag) < 0)
		goto fail;
	if (daemon->options->transient && !(server->company = company_new(daemon))) {
		kp_diag_no_memory(diag);
		goto fail;
	}
	if (start_polling(server, diag) < 0)
		goto fail;
	*out = server;
	return 0;
fail:
	company_close(server->company);
	server_free(server);
	return -1;
}
