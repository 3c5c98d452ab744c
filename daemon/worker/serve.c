/* SPDX-License-Identifier: MIT */
/* Serves the daemon's requests for workers; knows nothing of what jobs mean. */
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
#include "daemon/worker/process.h"
#include "lib/file.h"

enum { MESSAGE_MOST = 256, FDS_LEAST = 3, FDS_MOST = FDS_LEAST + PROCESS_FDS_MOST };

/* SIGTERM is for keepers, which start with it blocked; here it means nothing. */
static const int watched[] = {SIGCHLD, SIGTERM};

struct seat {
	pid_t keeper;
	int64_t id;
};

struct launcher {
	int signals;
	struct seat *seats;
	size_t count, room;
};

/* One packet and the descriptors that came with it. */
struct packet {
	char text[MESSAGE_MOST];
	size_t size;
	int fds[FDS_MOST];
	size_t n_fds;
};

static void tell(json_t *message)
{
	char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
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
		struct seat *seats =
			reallocarray(launcher->seats, room, sizeof(*launcher->seats));
		if (!seats)
			return NULL;
		launcher->seats = seats;
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

static void run_job(struct launcher *launcher, int64_t id, const struct packet *packet)
{
	struct keeper_job job = {.id = id};
	struct seat *seat = new_seat(launcher);
	if (packet->n_fds < FDS_LEAST || !seat) {
		tell_lost(id, seat ? "descriptors are missing" : "no memory is left");
		return;
	}
	job.job = packet->fds[0];
	job.report = packet->fds[1];
	job.output = packet->fds[2];
	job.n_fds = packet->n_fds - FDS_LEAST;
	memcpy(job.fds, packet->fds + FDS_LEAST, job.n_fds * sizeof(int));
	/* First, since the keeper tells of the end by itself. */
	tell(json_pack("{s:I}", "started", (json_int_t)id));
	pid_t self = getpid();
	pid_t keeper = fork();
	if (keeper == 0)
		keeper_run(self, LAUNCHER_SOCKET, &job);
	if (keeper < 0) {
		tell_lost(id, strerror(errno));
		return;
	}
	*seat = (struct seat){.keeper = keeper, .id = id};
	launcher->count++;
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

static void take_fds(struct msghdr *header, struct packet *packet)
{
	for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at;
		at = CMSG_NXTHDR(header, at)) {
		if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		packet->n_fds = n < FDS_MOST ? n : FDS_MOST;
		memcpy(packet->fds, CMSG_DATA(at), packet->n_fds * sizeof(int));
	}
}

/* 1: a packet; 0: the daemon is gone; -1: nothing that can be used. */
static int receive(struct packet *packet)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * FDS_MOST)];
	} control;
	struct iovec part = {.iov_base = packet->text, .iov_len = sizeof(packet->text)};
	struct msghdr header = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	packet->n_fds = 0;
	ssize_t n = recvmsg(LAUNCHER_SOCKET, &header, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? -1 : 0;
	packet->size = (size_t)n;
	take_fds(&header, packet);
	return n > 0;
}

static bool serve_socket(struct launcher *launcher)
{
	struct packet packet = {.n_fds = 0};
	int got = receive(&packet);
	if (got > 0)
		obey(launcher, &packet);
	for (size_t i = 0; i < packet.n_fds; i++)
		kp_file_close(&packet.fds[i]);
	return got != 0;
}

static void drop_seat(struct launcher *launcher, struct seat *seat, const siginfo_t *info)
{
	if (info->si_code != CLD_EXITED)
		tell(json_pack("{s:I}", "bereaved", (json_int_t)seat->id));
	else if (info->si_status != 0)
		tell_lost(seat->id, "the parent of the worker failed");
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
	for (size_t i = 0; i < launcher->count; i++)
		kill_keeper(launcher->seats[i].keeper);
	while (launcher->count > 0) {
		struct pollfd ready = {.fd = launcher->signals, .events = POLLIN};
		(void)poll(&ready, 1, -1);
		reap(launcher);
	}
	(void)kin_end(NULL, NULL);
	free(launcher->seats);
}

static bool prepare(struct launcher *launcher)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		return false;
	process_close_others((const int[]){LAUNCHER_SOCKET}, 1);
	(void)fcntl(LAUNCHER_SOCKET, F_SETFD, FD_CLOEXEC);
	launcher->signals = process_signals(watched, 2);
	return launcher->signals >= 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

int serve(void)
{
	struct launcher launcher = {.signals = -1};
	if (!prepare(&launcher)) {
		perror("plugin-worker: cannot serve as launcher");
		return EXIT_FAILURE;
	}
	for (bool serving = true; serving;) {
		struct pollfd ready[] = {
			{.fd = LAUNCHER_SOCKET, .events = POLLIN},
			{.fd = launcher.signals, .events = POLLIN},
		};
		if (poll(ready, 2, -1) < 0)
			continue;
		if (ready[1].revents)
			reap(&launcher);
		if (ready[0].revents)
			serving = serve_socket(&launcher);
	}
	end_all(&launcher);
	return EXIT_SUCCESS;
}
