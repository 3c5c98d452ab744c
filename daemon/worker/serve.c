/* SPDX-License-Identifier: MIT */
/* Serves the daemon's requests for workers; knows nothing of what jobs mean. */
#include "daemon/worker/backtrace.h"
#include "daemon/worker/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/worker/keeper.h"
#include "daemon/worker/kin.h"
#include "daemon/worker/packet.h"
#include "daemon/worker/process.h"
#include "daemon/worker/sandbox.h"
#include "lib/base/file.h"
#include "lib/base/json.h"

enum { IDLE_MS = 100 }; /* then keepers that are free end */

/* SIGTERM is for keepers, which start with it blocked; here it means nothing. */
static const int watched[] = {SIGCHLD, SIGTERM};

/* A keeper and the job that it had last; it is free when it has told so. */
struct seat {
	pid_t keeper;
	int64_t id;
	int jobs;
	bool free;
};

struct launcher {
	int signals;
	struct sandbox sandbox; /* for the workers, which are forks of forks of this */
	struct seat *seats;
	struct pollfd *ready; /* the daemon, signals, then a place for each seat */
	size_t count, room;
};

enum { DAEMON, SIGNALS, SEATS };

static void tell(json_t *message)
{
	char *text = message ? kp_json_dumps(message, JSON_COMPACT) : NULL;
	if (text)
		(void)send(LAUNCHER_SOCKET, text, strlen(text), MSG_NOSIGNAL);
	free(text);
	json_decref(message);
}

static void tell_lost(int64_t id, const char *why)
{
	tell(json_pack("{s:I, s:s}", "lost", (json_int_t)id, "message", why));
}

/* Before the fork: what cannot be remembered must not run. */
static struct seat *new_seat(struct launcher *launcher)
{
	if (launcher->count == launcher->room) {
		size_t room = launcher->room ? launcher->room * 2 : 16;
		struct pollfd *ready =
			reallocarray(launcher->ready, SEATS + room, sizeof(*ready));
		if (ready)
			launcher->ready = ready;
		struct seat *seats =
			reallocarray(launcher->seats, room, sizeof(*launcher->seats));
		if (seats)
			launcher->seats = seats;
		if (!ready || !seats)
			return NULL;
		launcher->room = room;
	}
	return &launcher->seats[launcher->count];
}

static struct seat *find_keeper(struct launcher *launcher, pid_t keeper)
{
	for (size_t i = 0; i < launcher->count; i++)
		if (launcher->seats[i].keeper == keeper)
			return &launcher->seats[i];
	return NULL;
}

static bool is_keeper(void *context, pid_t pid)
{
	return find_keeper(context, pid) != NULL;
}

/* Keepers that have told so since they were looked at. */
static void note_free(struct launcher *launcher)
{
	char byte;
	for (size_t i = 0; i < launcher->count; i++) {
		struct seat *seat = &launcher->seats[i];
		if (!seat->free && recv(seat->jobs, &byte, 1, MSG_DONTWAIT) == 1)
			seat->free = true;
	}
}

/* Its keeper ends as soon as it has nothing to do. */
static void let_go(struct seat *seat)
{
	kp_file_close(&seat->jobs);
	seat->free = false;
}

static void let_go_free(struct launcher *launcher)
{
	for (size_t i = 0; i < launcher->count; i++)
		if (launcher->seats[i].free)
			let_go(&launcher->seats[i]);
}

static struct seat *free_seat(struct launcher *launcher)
{
	note_free(launcher);
	for (size_t i = 0; i < launcher->count; i++)
		if (launcher->seats[i].free)
			return &launcher->seats[i];
	return NULL;
}

/* A new keeper on a new seat; NULL with errno. */
static struct seat *add_keeper(struct launcher *launcher)
{
	struct seat *seat = new_seat(launcher);
	pid_t self = getpid();
	int pair[2];
	if (!seat || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return NULL;
	pid_t keeper = fork();
	if (keeper == 0)
		keeper_run(self, LAUNCHER_SOCKET, pair[1], &launcher->sandbox);
	int error = errno;
	kp_file_close(&pair[1]);
	if (keeper < 0) {
		kp_file_close(&pair[0]);
		errno = error;
		return NULL;
	}
	*seat = (struct seat){.keeper = keeper, .jobs = pair[0]};
	launcher->count++;
	return seat;
}

/* The job goes on to a keeper: its number in place of the daemon's text. */
static bool pass_on(struct seat *seat, int64_t id, const struct packet *packet)
{
	struct packet job = *packet;
	memcpy(job.text, &id, sizeof(id));
	job.size = sizeof(id);
	seat->free = false;
	seat->id = packet_send(seat->jobs, &job) == 0 ? id : 0;
	return seat->id != 0;
}

static void run_job(struct launcher *launcher, int64_t id, const struct packet *packet)
{
	if (packet->n_fds < PACKET_FDS_LEAST) {
		tell_lost(id, "descriptors are missing");
		return;
	}
	/* First, since the keeper tells of the end by itself. */
	tell(json_pack("{s:I}", "started", (json_int_t)id));
	struct seat *seat = free_seat(launcher);
	/* One that was killed while it was free takes nothing: another is made. */
	if (seat && pass_on(seat, id, packet))
		return;
	seat = add_keeper(launcher);
	if (!seat || !pass_on(seat, id, packet))
		tell_lost(id, strerror(errno));
}

/* A keeper that was stopped must run to obey. */
static void kill_keeper(pid_t keeper)
{
	(void)kill(keeper, SIGTERM);
	(void)kill(keeper, SIGCONT);
}

static void kill_job(struct launcher *launcher, int64_t id)
{
	for (size_t i = 0; i < launcher->count; i++)
		if (launcher->seats[i].id == id)
			kill_keeper(launcher->seats[i].keeper);
}

static void obey(struct launcher *launcher, const struct packet *packet)
{
	json_t *message = json_loadb(packet->text, packet->size, 0, NULL);
	const json_t *run = json_object_get(message, "run");
	const json_t *end = json_object_get(message, "kill");
	if (json_is_integer(run))
		run_job(launcher, json_integer_value(run), packet);
	else if (json_is_integer(end))
		kill_job(launcher, json_integer_value(end));
	json_decref(message);
}

static bool serve_socket(struct launcher *launcher)
{
	struct packet packet = {.n_fds = 0};
	int got = packet_receive(LAUNCHER_SOCKET, &packet);
	if (got > 0)
		obey(launcher, &packet);
	packet_close(&packet);
	return got != 0;
}

static void drop_seat(struct launcher *launcher, struct seat *seat, const siginfo_t *info)
{
	if (info->si_code != CLD_EXITED)
		tell(json_pack("{s:I}", "bereaved", (json_int_t)seat->id));
	else if (info->si_status != 0)
		tell_lost(seat->id, "the parent of the worker failed");
	kp_file_close(&seat->jobs);
	*seat = launcher->seats[--launcher->count];
}

/* Keepers clean up themselves; what one left that was killed is cleaned here. */
static void reap(struct launcher *launcher)
{
	struct signalfd_siginfo drop;
	siginfo_t info = {0};
	while (read(launcher->signals, &drop, sizeof(drop)) > 0)
		continue;
	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0) {
		struct seat *seat = find_keeper(launcher, info.si_pid);
		bool told = info.si_code == CLD_EXITED && info.si_status == 0;
		if (seat)
			drop_seat(launcher, seat, &info);
		if (seat && !told)
			(void)kin_end(is_keeper, launcher);
		info.si_pid = 0;
	}
}

static void end_all(struct launcher *launcher)
{
	for (size_t i = 0; i < launcher->count; i++) {
		let_go(&launcher->seats[i]);
		kill_keeper(launcher->seats[i].keeper);
	}
	while (launcher->count > 0) {
		struct pollfd ready = {.fd = launcher->signals, .events = POLLIN};
		(void)poll(&ready, 1, -1);
		reap(launcher);
	}
	(void)kin_end(NULL, NULL);
	free(launcher->seats);
	free(launcher->ready);
	sandbox_finish(&launcher->sandbox);
}

static bool prepare(struct launcher *launcher)
{
	struct kp_diag diag;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0) {
		perror("plugin-worker: cannot open /dev/null");
		return false;
	}
	process_default_signals();
	process_close_others((const int[]){LAUNCHER_SOCKET}, 1);
	(void)fcntl(LAUNCHER_SOCKET, F_SETFD, FD_CLOEXEC);
	launcher->signals = process_signals(watched, 2);
	launcher->ready = calloc(SEATS, sizeof(*launcher->ready));
	if (!launcher->ready || launcher->signals < 0 ||
		prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
		perror("plugin-worker: cannot serve as launcher");
		return false;
	}
	if (sandbox_prepare(&launcher->sandbox, &diag) == 0)
		return true;
	(void)fprintf(stderr, "plugin-worker: %s\n", diag.message);
	return false;
}

/* Waits for the daemon, a signal, or a keeper that is free; 0: free ones have idled. */
static int wait_for_news(struct launcher *launcher)
{
	bool idle = false;
	launcher->ready[DAEMON] = (struct pollfd){LAUNCHER_SOCKET, POLLIN, 0};
	launcher->ready[SIGNALS] = (struct pollfd){launcher->signals, POLLIN, 0};
	for (size_t i = 0; i < launcher->count; i++) {
		const struct seat *seat = &launcher->seats[i];
		idle = idle || seat->free;
		launcher->ready[SEATS + i] =
			(struct pollfd){seat->free ? -1 : seat->jobs, POLLIN, 0};
	}
	return poll(launcher->ready, SEATS + launcher->count, idle ? IDLE_MS : -1);
}

int serve(void)
{
	struct launcher launcher = {.signals = -1};
	backtrace_prepare();
	if (!prepare(&launcher)) {
		free(launcher.ready);
		return EXIT_FAILURE;
	}
	for (bool serving = true; serving;) {
		int n = wait_for_news(&launcher);
		if (n == 0)
			let_go_free(&launcher);
		if (n <= 0)
			continue;
		note_free(&launcher);
		if (launcher.ready[SIGNALS].revents)
			reap(&launcher);
		if (launcher.ready[DAEMON].revents)
			serving = serve_socket(&launcher);
	}
	end_all(&launcher);
	return EXIT_SUCCESS;
}
