/* SPDX-License-Identifier: MIT */
/* Sockets that wait, and processes that inherit them and end. */
#include "daemon/socket/disposal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/socket/wire.h"
#include "lib/base/owned.h"

enum {
	WAIT_MS = 50, /* for more of them: a flood costs few processes */
	WAITING = 64,
	PROCESSES = 16, /* that have not ended yet: something keeps them */
};

/* One that is to end, until it has. */
struct process {
	LIST_ENTRY(process) link;
	struct disposal *disposal;
	int pidfd;
	uv_poll_t poll;
};

struct disposal {
	uv_loop_t *loop;
	const char *worker;
	uv_timer_t timer;
	LIST_HEAD(, process) processes;
	size_t n_processes, count;
	int waiting[WAITING];
};

/* ---- processes ------------------------------------------------------------------- */

static void on_process_closed(uv_handle_t *handle)
{
	struct process *process = handle->data;

	kp_file_close(&process->pidfd);
	free(process);
}

static void forget(struct process *process)
{
	LIST_REMOVE(process, link);
	process->disposal->n_processes--;
	uv_close((uv_handle_t *)&process->poll, on_process_closed);
}

static void on_end(uv_poll_t *poll, int status, int events)
{
	struct process *process = poll->data;
	siginfo_t info = {0};
	(void)status;
	(void)events;

	if (waitid(P_PIDFD, (id_t)process->pidfd, &info, WEXITED | WNOHANG) == 0 &&
		info.si_pid == 0)
		return;
	forget(process);
}

/* One that cannot be watched is left to whoever is our parent, when we end. */
static void watch(struct disposal *disposal, pid_t pid)
{
	struct process *process = calloc(1, sizeof(*process));

	if (!process)
		return;
	process->disposal = disposal;
	process->pidfd = pidfd_open(pid, 0);
	if (process->pidfd < 0 ||
		uv_poll_init(disposal->loop, &process->poll, process->pidfd) < 0) {
		kp_file_close(&process->pidfd);
		free(process);
		return;
	}
	process->poll.data = process;
	LIST_INSERT_HEAD(&disposal->processes, process, link);
	disposal->n_processes++;
	(void)uv_poll_start(&process->poll, UV_READABLE, on_end);
	uv_unref((uv_handle_t *)&process->poll);
}

/* Descriptors that keep their numbers lose their mark to be closed. */
static int let_inherit(
	const struct disposal *disposal, int until, posix_spawn_file_actions_t *actions)
{
	int error = posix_spawn_file_actions_adddup2(actions, until, STDIN_FILENO);

	for (size_t i = 0; i < disposal->count && !error; i++)
		error = posix_spawn_file_actions_adddup2(
			actions, disposal->waiting[i], disposal->waiting[i]);
	return error;
}

static int spawn(const struct disposal *disposal, int until, pid_t *pid)
{
	char *arguments[] = {(char *)(uintptr_t)disposal->worker, (char *)"--hold", NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(
		&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	int error = let_inherit(disposal, until, &actions);
	if (!error)
		error = posix_spawn(
			pid, disposal->worker, &actions, &attributes, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return error;
}

static void close_waiting(struct disposal *disposal)
{
	while (disposal->count > 0)
		(void)close(disposal->waiting[--disposal->count]);
}

/* Once it runs, ours are not the last; once our end of the pipe is gone, it ends. */
static bool leave_to_one(struct disposal *disposal)
{
	int until[2];
	pid_t pid;

	if (disposal->n_processes >= PROCESSES || pipe2(until, O_CLOEXEC) < 0)
		return false;
	owned_fd theirs = until[0];
	owned_fd ours = until[1];
	if (spawn(disposal, theirs, &pid) != 0)
		return false;
	close_waiting(disposal);
	watch(disposal, pid);
	(void)ours;
	return true;
}

/* ---- what waits ------------------------------------------------------------------ */

static void on_timer(uv_timer_t *timer)
{
	struct disposal *disposal = timer->data;

	if (disposal->count > 0 && !leave_to_one(disposal))
		(void)uv_timer_start(timer, on_timer, WAIT_MS, 0);
}

void disposal_take(struct disposal *disposal, int fd)
{
	/* From here on nobody can put anything in. */
	(void)shutdown(fd, SHUT_RD);
	if (wire_is_plain(fd)) {
		(void)close(fd);
		return;
	}
	/* Without processes there are no workers either: then we may have to wait. */
	if (disposal->count == WAITING && !leave_to_one(disposal))
		close_waiting(disposal);
	disposal->waiting[disposal->count++] = fd;
	if (!uv_is_active((uv_handle_t *)&disposal->timer))
		(void)uv_timer_start(&disposal->timer, on_timer, WAIT_MS, 0);
}

/* ---- life ------------------------------------------------------------------------ */

struct disposal *disposal_new(uv_loop_t *loop, const char *worker)
{
	struct disposal *disposal = calloc(1, sizeof(*disposal));

	if (!disposal)
		return NULL;
	LIST_INIT(&disposal->processes);
	disposal->loop = loop;
	disposal->worker = worker;
	(void)uv_timer_init(loop, &disposal->timer);
	disposal->timer.data = disposal;
	uv_unref((uv_handle_t *)&disposal->timer);
	return disposal;
}

static void on_timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

/* What nobody takes ends with us, and so without a wait. */
void disposal_close(struct disposal *disposal)
{
	struct process *process;

	if (!disposal)
		return;
	if (disposal->count > 0)
		(void)leave_to_one(disposal);
	while ((process = LIST_FIRST(&disposal->processes)))
		forget(process);
	uv_close((uv_handle_t *)&disposal->timer, on_timer_closed);
}
