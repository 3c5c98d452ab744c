/* SPDX-License-Identifier: MIT */
/* Starts the launcher and speaks with it over a socket of packets. */
#include "daemon/pipeline/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/worker/packet.h"
#include "lib/base/file.h"
#include "lib/base/owned.h"
#include "lib/protocol/send.h"

enum { CHILD_SOCKET = 3, PACKET_MOST = 1024 };

struct launcher {
	pid_t pid;
	int socket, pidfd;
	uv_poll_t socket_poll, pidfd_poll;
	unsigned handles; /* not closed yet */
	bool ended_by_us;
	const struct launcher_events *events;
	void *context;
};

/* Whole names, and beginnings that end in '_'. */
static const char *const kept[] = {"PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH",
	"ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "CUDA_",
	"NVIDIA_", "HIP_", "ROCR_", "HSA_", "GPU_", "ZE_", "KPLUG_CUBLASLT"};

static bool is_kept(const char *variable)
{
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		size_t n = strlen(kept[i]);
		if (strncmp(variable, kept[i], n) == 0 &&
			(kept[i][n - 1] == '_' || variable[n] == '='))
			return true;
	}
	return false;
}

/* An array of borrowed strings. */
static char **make_environment(void)
{
	size_t count = 0;
	while (environ && environ[count])
		count++;
	char **list = calloc(count + 1, sizeof(*list));
	size_t n = 0;
	for (size_t i = 0; list && i < count; i++)
		if (is_kept(environ[i]))
			list[n++] = environ[i];
	return list;
}

/* A session of its own: a terminal's interrupt is the daemon's to handle. */
static int spawn(const char *program, int socket, pid_t *pid)
{
	char *arguments[] = {(char *)program, (char *)"--launcher", NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	char **environment = make_environment();
	if (!environment)
		return ENOMEM;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(
		&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	int error = posix_spawn_file_actions_adddup2(&actions, socket, CHILD_SOCKET);
	if (!error)
		error = posix_spawn(
			pid, program, &actions, &attributes, arguments, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	free(environment);
	return error;
}

/* Whether more may come: not behind the end of file, which the pidfd tells of. */
static bool receive(struct launcher *launcher)
{
	char text[PACKET_MOST];
	ssize_t n = recv(launcher->socket, text, sizeof(text), MSG_DONTWAIT);
	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			uv_poll_stop(&launcher->socket_poll);
		return false;
	}
	json_t *message = json_loadb(text, (size_t)n, 0, NULL);
	if (json_is_object(message))
		launcher->events->message(launcher->context, message);
	json_decref(message);
	return true;
}

static void receive_all(struct launcher *launcher)
{
	/* A message may make its receiver hang up. */
	while (launcher->socket >= 0 && receive(launcher))
		continue;
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	receive_all(poll->data);
}

static void dispose(struct launcher *launcher)
{
	kp_file_close(&launcher->socket);
	kp_file_close(&launcher->pidfd);
	free(launcher);
}

static void on_closed(uv_handle_t *handle)
{
	struct launcher *launcher = handle->data;
	if (--launcher->handles > 0)
		return;
	const struct launcher_events *events = launcher->events;
	void *context = launcher->context;
	bool by_us = launcher->ended_by_us;
	dispose(launcher);
	if (events)
		events->ended(context, by_us);
}

static void on_exit_of_it(uv_poll_t *poll, int status, int events)
{
	struct launcher *launcher = poll->data;
	siginfo_t info = {0};
	(void)status;
	(void)events;
	if (waitid(P_PIDFD, (id_t)launcher->pidfd, &info, WEXITED | WNOHANG) == 0 &&
		info.si_pid == 0)
		return;
	receive_all(launcher);
	if (!uv_is_closing((uv_handle_t *)&launcher->socket_poll))
		uv_close((uv_handle_t *)&launcher->socket_poll, on_closed);
	uv_close((uv_handle_t *)&launcher->pidfd_poll, on_closed);
}

/* Watches both; handles counts what must be closed, also after a failure. */
static int watch(uv_loop_t *loop, struct launcher *launcher)
{
	launcher->socket_poll.data = launcher->pidfd_poll.data = launcher;
	int error = uv_poll_init(loop, &launcher->pidfd_poll, launcher->pidfd);
	if (error)
		return error;
	launcher->handles = 1;
	error = uv_poll_init(loop, &launcher->socket_poll, launcher->socket);
	if (error)
		return error;
	launcher->handles = 2;
	error = uv_poll_start(&launcher->socket_poll, UV_READABLE, on_socket);
	return error ? error
		     : uv_poll_start(&launcher->pidfd_poll, UV_READABLE, on_exit_of_it);
}

/* Before anybody has seen it: ended and closed without a word. */
static void abandon(struct launcher *launcher)
{
	launcher->events = NULL;
	if (launcher->pid > 0) {
		(void)kill(launcher->pid, SIGKILL);
		(void)waitpid(launcher->pid, NULL, 0);
	}
	if (launcher->handles == 0) {
		dispose(launcher);
		return;
	}
	if (launcher->handles == 2)
		uv_close((uv_handle_t *)&launcher->socket_poll, on_closed);
	uv_close((uv_handle_t *)&launcher->pidfd_poll, on_closed);
}

static int begin(uv_loop_t *loop, struct launcher *launcher, const char *program)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return errno;
	launcher->socket = pair[0];
	owned_fd theirs = pair[1];
	int error = spawn(program, theirs, &launcher->pid);
	if (error)
		return error;
	launcher->pidfd = pidfd_open(launcher->pid, 0);
	if (launcher->pidfd < 0)
		return errno;
	return -watch(loop, launcher);
}

struct launcher *launcher_start(uv_loop_t *loop, const char *program,
	const struct launcher_events *events, void *context, struct kp_diag *diag)
{
	struct launcher *launcher = calloc(1, sizeof(*launcher));
	if (!launcher) {
		kp_diag_no_memory(diag);
		return NULL;
	}
	launcher->socket = launcher->pidfd = -1;
	launcher->events = events;
	launcher->context = context;
	int error = begin(loop, launcher, program);
	if (error) {
		kp_diag_set(diag, "launcher_failed", program, "cannot start %s: %s",
			program, strerror(error));
		abandon(launcher);
		return NULL;
	}
	return launcher;
}

static int send_packet(
	struct launcher *launcher, const char *verb, int64_t id, const int *fds, size_t n)
{
	char text[64];
	int size = snprintf(text, sizeof(text), "{\"%s\": %lld}", verb, (long long)id);

	return kp_send(launcher->socket, text, (size_t)size, fds, n) < 0 ? -1 : 0;
}

/* A note may have 4 MiB, a packet may not. */
static int make_text(const struct launcher_job *job)
{
	int fd = memfd_create("kplug-job", MFD_CLOEXEC);
	if (fd >= 0 && kp_file_write(fd, job->text, job->size) < 0)
		kp_file_close(&fd);
	return fd;
}

int launcher_run(
	struct launcher *launcher, const struct launcher_job *job, struct kp_diag *diag)
{
	int fds[PACKET_FDS] = {-1, job->report, job->output};
	owned_fd text = make_text(job);
	if (text < 0)
		return kp_diag_set(diag, "launcher_failed", NULL,
			"cannot pass a job to the launcher: %s", strerror(errno));
	fds[0] = text;
	memcpy(fds + PACKET_FDS_LEAST, job->fds, job->n_fds * sizeof(int));
	if (send_packet(launcher, "run", job->id, fds, PACKET_FDS_LEAST + job->n_fds) ==
		0)
		return 0;
	kp_diag_set(diag, "launcher_failed", NULL, "the launcher does not take jobs: %s",
		strerror(errno));
	launcher_kill(launcher);
	return -1;
}

void launcher_end_job(struct launcher *launcher, int64_t id)
{
	if (launcher->socket >= 0 && send_packet(launcher, "kill", id, NULL, 0) < 0)
		launcher_kill(launcher);
}

void launcher_hang_up(struct launcher *launcher)
{
	if (launcher->socket < 0)
		return;
	if (!uv_is_closing((uv_handle_t *)&launcher->socket_poll))
		uv_close((uv_handle_t *)&launcher->socket_poll, on_closed);
	kp_file_close(&launcher->socket);
	launcher->ended_by_us = true;
}

void launcher_kill(struct launcher *launcher)
{
	launcher->ended_by_us = true;
	(void)pidfd_send_signal(launcher->pidfd, SIGKILL, NULL, 0);
}
