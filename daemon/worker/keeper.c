/* SPDX-License-Identifier: MIT */
/* Keeps a worker: waits for it, kills it when told so, ends its kin; then the next. */
#include "daemon/worker/keeper.h"

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

#include "daemon/worker/backtrace.h"
#include "daemon/worker/job.h"
#include "daemon/worker/kin.h"
#include "daemon/worker/packet.h"
#include "daemon/worker/sandbox.h"
#include "daemon/worker/watch.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/json.h"

enum { ANSWER_MS = 500 }; /* for where it is, before it is killed */

static const int watched[] = {SIGCHLD, SIGTERM};

/* {"ended": id, "status": wait status, "lingered": bool}; 0 or -1. */
static int tell_end(int socket, int64_t id, int status, int lingered)
{
	char text[128];
	int n = snprintf(text, sizeof(text),
		"{\"ended\": %lld, \"status\": %d, \"lingered\": %s}", (long long)id,
		status, lingered ? "true" : "false");
	return send(socket, text, (size_t)n, MSG_NOSIGNAL) == n ? 0 : -1;
}

/* What a worker is kept with. */
struct keeper {
	pid_t launcher;
	int socket, jobs, signals;
	const struct sandbox *sandbox;
	struct watch watch;
	int64_t id;	  /* of the job */
	int64_t asked_ms; /* when the worker was asked where it is, or 0 */
};

static void tell_refused(const struct keeper *keeper, const struct watch_news *news)
{
	json_t *message = json_pack("{s:I, s:s, s:b}", "refused", (json_int_t)keeper->id,
		"text", news->text, "deadly", news->deadly);
	char *text = message ? kp_json_dumps(message, JSON_COMPACT) : NULL;
	if (text)
		(void)send(keeper->socket, text, strlen(text), MSG_NOSIGNAL);
	free(text);
	json_decref(message);
}

static pid_t start_worker(struct keeper *keeper, const struct packet *job)
{
	const struct process_fds fds = {.job = job->fds[0],
		.report = job->fds[1],
		.output = job->fds[2],
		.more = job->fds + PACKET_FDS_LEAST,
		.n = job->n_fds - PACKET_FDS_LEAST};
	int gate[2] = {-1, -1};
	pid_t self = getpid();
	/* Where there is none, what is refused is refused in silence. */
	if (keeper->sandbox->offered.filter)
		(void)socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, gate);
	pid_t pid = fork();
	if (pid == 0) {
		struct process_fds own = fds;
		own.gate = gate[1];
		process_become_worker(self, &own);
		job_run(fds.n, keeper->sandbox, false);
	}
	kp_file_close(&gate[1]);
	watch_init(&keeper->watch, gate[0], keeper->sandbox->offered.landlock > 0);
	return pid;
}

static void kill_worker(pid_t pid)
{
	/* Not reaped yet: the number is its own. Its group falls with it. */
	(void)kill(pid, SIGKILL);
	(void)kill(-pid, SIGKILL);
}

static bool told_to_kill(int signals)
{
	struct signalfd_siginfo info;
	bool told = false;
	while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		told = told || info.ssi_signo == SIGTERM;
	return told;
}

/* Whether the worker is dead; reaps orphans that died while it lives. */
static bool is_dead(pid_t worker)
{
	siginfo_t info = {0};
	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		info.si_pid != 0) {
		if (info.si_pid == worker)
			return true;
		waitid(P_PID, (id_t)info.si_pid, &info, WEXITED);
		info.si_pid = 0;
	}
	return false;
}

/* What it does that no plugin has a reason to do ends it. */
static void look_at_refused(struct keeper *keeper, pid_t worker, short events)
{
	struct watch_news news = {.deadly = false};
	if (watch_look(&keeper->watch, events, &news))
		tell_refused(keeper, &news);
	if (news.deadly)
		kill_worker(worker);
}

/* Does the worker tell where it is before it ends? */
static bool can_be_asked(pid_t worker)
{
	char name[64], line[256];
	unsigned long long caught = 0;
	(void)snprintf(name, sizeof(name), "/proc/%d/status", (int)worker);
	FILE *file = fopen(name, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, "SigCgt:", 7) == 0)
			caught = strtoull(line + 7, NULL, 16);
	(void)fclose(file);
	return caught >> (BACKTRACE_ASKED - 1) & 1;
}

/* Its time is up: it may say where it is. Without a launcher nobody would hear it. */
static void end_worker(struct keeper *keeper, pid_t worker)
{
	if (!keeper->asked_ms && getppid() == keeper->launcher && can_be_asked(worker) &&
		kill(worker, BACKTRACE_ASKED) == 0) {
		keeper->asked_ms = kp_clock_ms();
		return;
	}
	kill_worker(worker);
	keeper->asked_ms = 0;
}

/* Until the answer must be there; -1: none is waited for. */
static int patience(const struct keeper *keeper)
{
	int64_t left = keeper->asked_ms + ANSWER_MS - kp_clock_ms();
	if (!keeper->asked_ms)
		return -1;
	return left > 0 ? (int)left : 0;
}

static int wait_for(struct keeper *keeper, pid_t worker)
{
	int status = 0;
	keeper->asked_ms = 0;
	while (!is_dead(worker)) {
		struct pollfd ready[] = {{.fd = keeper->signals, .events = POLLIN},
			{.fd = watch_fd(&keeper->watch), .events = POLLIN}};
		(void)poll(ready, 2, patience(keeper));
		if (told_to_kill(keeper->signals) || patience(keeper) == 0)
			end_worker(keeper, worker);
		if (ready[1].revents)
			look_at_refused(keeper, worker, ready[1].revents);
	}
	(void)waitpid(worker, &status, 0);
	return status;
}

/* False: it could not be run, or nobody can be blamed for its end. */
static bool keep(struct keeper *keeper, struct packet *job)
{
	if (job->size != sizeof(keeper->id) || job->n_fds < PACKET_FDS_LEAST)
		return false;
	memcpy(&keeper->id, job->text, sizeof(keeper->id));
	/* Told to kill what has ended: not this one. */
	(void)told_to_kill(keeper->signals);
	pid_t worker = start_worker(keeper, job);
	/* The worker's pipes must be its own: their end is its end. */
	packet_close(job);
	int status = worker < 0 ? 0 : wait_for(keeper, worker);
	watch_finish(&keeper->watch);
	if (worker < 0)
		return false;
	bool lingered = kin_end(NULL, NULL);
	/* Killed because the launcher died, perhaps: then nobody may be blamed. */
	if (getppid() != keeper->launcher)
		return false;
	/* First, so that the job that follows finds this one free. */
	return send(keeper->jobs, "", 1, MSG_NOSIGNAL) == 1 &&
	       tell_end(keeper->socket, keeper->id, status, lingered) == 0;
}

_Noreturn void keeper_run(
	pid_t launcher, int socket, int jobs, const struct sandbox *sandbox)
{
	struct packet job;
	int got;
	int signals = process_signals(watched, 2);
	struct keeper keeper = {launcher, socket, jobs, signals, sandbox, {0}, 0, 0};
	if (signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ||
		prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != launcher)
		_exit(EXIT_FAILURE);
	process_close_others((const int[]){socket, jobs, signals}, 3);
	while ((got = packet_receive(jobs, &job)) != 0)
		if (got > 0 && !keep(&keeper, &job))
			_exit(EXIT_FAILURE);
	_exit(EXIT_SUCCESS);
}
