/* SPDX-License-Identifier: MIT */
/* Listening, and takeover of a stale socket. */
#include "daemon/socket/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "daemon/daemon.h"
#include "daemon/options.h"
#include "daemon/socket/client.h"
#include "daemon/socket/company.h"
#include "daemon/socket/role.h"
#include "daemon/socket/room.h"
#include "daemon/state/lock.h"
#include "lib/base/file.h"

enum {
	ACCEPTS_A_TURN = 16,
	PAUSE_MS = 100,
	SWEEP_MS = 1000,
	BACKLOG = 1024,
};

struct server {
	uv_poll_t poll;
	uv_timer_t pause; /* when descriptors are exhausted */
	uv_timer_t sweep; /* while there are refused ones */
	int open_handles;
	struct daemon *daemon;
	int fd;
	char *path;
	dev_t dev;
	ino_t ino; /* of our socket */
	struct lock lock;
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
		(void)close(fd);
	else
		take_up(server, &options);
}

static void listen_again(uv_timer_t *timer);
static void on_connection(uv_poll_t *poll, int status, int events);

static void pause_listening(struct server *server, const char *why)
{
	log_line(&server->daemon->log, LOG_WARNING, "%s: cannot accept: %s", server->path,
		why);
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
		int fd = accept4(server->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
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

/* ---- the socket's path ---- */

static int failed(const char *what, const char *path, struct kp_diag *diag)
{
	return kp_diag_set(diag, "write_failed", path, "cannot %s %s: %s", what, path,
		strerror(errno));
}

static void address_of(const char *path, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path, path, strlen(path) + 1);
}

/* Only a refused connection proves that nobody is there. */
static int prove_stale(const char *path, struct kp_diag *diag)
{
	struct sockaddr_un address;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return failed("make a socket for", path, diag);
	address_of(path, &address);
	int result = connect(fd, (struct sockaddr *)&address, sizeof(address));
	int error = errno;
	(void)close(fd);
	if (result < 0 && error == ECONNREFUSED)
		return 0;
	if (result == 0 || error == EAGAIN || error == EINPROGRESS)
		return kp_diag_set(diag, "already_running", path,
			"another process listens at %s", path);
	return kp_diag_set(diag, "foreign_file", path,
		"cannot tell whether somebody listens at %s: %s", path, strerror(error));
}

static const char *kind_of(mode_t mode)
{
	return S_ISREG(mode)   ? "a regular file"
	       : S_ISLNK(mode) ? "a symbolic link"
	       : S_ISDIR(mode) ? "a directory"
			       : "not a socket";
}

static int clear_path(struct daemon *daemon, const char *path, struct kp_diag *diag)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : failed("look at", path, diag);
	if (!S_ISSOCK(st.st_mode))
		return kp_diag_set(diag, "foreign_file", path,
			"%s is %s, not a socket; it is left alone", path,
			kind_of(st.st_mode));
	if (prove_stale(path, diag) < 0)
		return -1;
	log_line(&daemon->log, LOG_INFO,
		"%s: nobody listens at this socket, replacing it", path);
	return unlink(path) < 0 ? failed("remove", path, diag) : 0;
}

static int bind_socket(struct server *server, bool system, struct kp_diag *diag)
{
	struct sockaddr_un address;
	struct stat st;

	address_of(server->path, &address);
	server->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (server->fd < 0)
		return failed("make a socket for", server->path, diag);
	/* Nobody gets in between bind and chmod. The pool has no thread yet. */
	mode_t before = umask(0177);
	int result = bind(server->fd, (struct sockaddr *)&address, sizeof(address));
	int error = errno;
	(void)umask(before);
	errno = error;
	if (result < 0)
		return failed("bind to", server->path, diag);
	if (lstat(server->path, &st) < 0)
		return failed("look at", server->path, diag);
	server->dev = st.st_dev;
	server->ino = st.st_ino;
	if (system && chmod(server->path, 0666) < 0)
		return failed("open to all users", server->path, diag);
	if (listen(server->fd, BACKLOG) < 0)
		return failed("listen at", server->path, diag);
	return 0;
}

/* Where nobody named the socket all that leads there is made. */
static int make_usual(
	const char *path, const char *directory, bool system, struct kp_diag *diag)
{
	struct kp_diag why;

	if (kp_file_make_dirs(directory, system ? 0755 : 0700, &why) == 0)
		return 0;
	return kp_diag_set(diag, why.code, path,
		"%s (for the socket %s): %sgive --socket", why.message, path,
		system ? "" : "set XDG_RUNTIME_DIR or ");
}

/* Else a name that is mistyped must not become a tree of directories. */
static int make_last(const char *directory, bool system, struct kp_diag *diag)
{
	if (mkdir(directory, system ? 0755 : 0700) == 0 || errno == EEXIST)
		return 0;
	return kp_diag_set(diag, "write_failed", directory,
		"cannot make the directory %s for the socket: %s", directory,
		strerror(errno));
}

static int make_directory(
	const char *path, const struct options *options, struct kp_diag *diag)
{
	char *directory = strdup(path);
	if (!directory)
		return kp_diag_no_memory(diag);
	char *slash = strrchr(directory, '/');
	int result = 0;
	if (slash && slash != directory) {
		*slash = '\0';
		result = options->has_usual_socket
				 ? make_usual(path, directory, options->system, diag)
				 : make_last(directory, options->system, diag);
	}
	free(directory);
	return result;
}

static int take_lock(struct server *server, struct kp_diag *diag)
{
	char *path = NULL;
	if (asprintf(&path, "%s.lock", server->path) < 0)
		return kp_diag_no_memory(diag);
	int result = lock_take(&server->lock, path, diag);
	free(path);
	return result;
}

static void remove_socket(struct server *server)
{
	struct stat st;
	if (server->path && server->ino && lstat(server->path, &st) == 0 &&
		st.st_ino == server->ino && st.st_dev == server->dev)
		(void)unlink(server->path);
	server->ino = 0;
}

static void server_free(struct server *server)
{
	remove_socket(server);
	lock_drop(&server->lock);
	kp_file_close(&server->fd);
	free(server->path);
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
	remove_socket(server);
	company_close(server->company);
	server->company = NULL;
	while (server->room.count > 0)
		client_close(server->room.guests[server->room.count - 1].client);
	uv_close((uv_handle_t *)&server->poll, on_handle_closed);
	uv_close((uv_handle_t *)&server->pause, on_handle_closed);
	uv_close((uv_handle_t *)&server->sweep, on_handle_closed);
}

static int start_polling(struct server *server, struct kp_diag *diag)
{
	uv_loop_t *loop = &server->daemon->loop;
	int result = uv_poll_init(loop, &server->poll, server->fd);

	if (result < 0)
		return kp_diag_set(diag, "io_error", server->path, "cannot poll %s: %s",
			server->path, uv_strerror(result));
	(void)uv_timer_init(loop, &server->pause);
	(void)uv_timer_init(loop, &server->sweep);
	server->poll.data = server;
	server->pause.data = server;
	server->sweep.data = server;
	server->open_handles = 3;
	(void)uv_poll_start(&server->poll, UV_READABLE, on_connection);
	return 0;
}

int server_open(struct daemon *daemon, const char *path, struct server **out,
	struct kp_diag *diag)
{
	bool system = daemon->options->system;
	struct server *server = calloc(1, sizeof(*server));

	if (!server)
		return kp_diag_no_memory(diag);
	server->daemon = daemon;
	server->fd = -1;
	server->lock.fd = -1;
	server->path = strdup(path);
	role_policy_init(&server->policy, system);
	server->room.shared = system;
	if (daemon->options->transient)
		server->company = company_new(daemon);
	if (!server->path || (daemon->options->transient && !server->company)) {
		kp_diag_no_memory(diag);
		goto fail;
	}
	if (make_directory(path, daemon->options, diag) < 0 ||
		take_lock(server, diag) < 0 || clear_path(daemon, path, diag) < 0 ||
		bind_socket(server, system, diag) < 0 || start_polling(server, diag) < 0)
		goto fail;
	*out = server;
	return 0;
fail:
	company_close(server->company);
	server_free(server);
	return -1;
}
