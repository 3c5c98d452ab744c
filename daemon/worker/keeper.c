/* SPDX-License-Identifier: MIT */
/* Keeps a worker: waits for it, kills it when told so, ends its kin; then the next. */
#include "daemon/worker/keeper.h"

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

#include "daemon/worker/job.h"
#include "daemon/worker/kin.h"
#include "daemon/worker/packet.h"

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

static pid_t start_worker(const struct packet *job)
{
	size_t more = job->n_fds - PACKET_FDS_LEAST;
	pid_t keeper = getpid();
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	process_become_worker(keeper, job->fds[1], job->fds[0], job->fds[2],
		job->fds + PACKET_FDS_LEAST, more);
	job_run(more, false);
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

static int wait_for(pid_t worker, int signals)
{
	int status = 0;
	while (!is_dead(worker)) {
		struct pollfd ready = {.fd = signals, .events = POLLIN};
		(void)poll(&ready, 1, -1);
		if (told_to_kill(signals))
			kill_worker(worker);
	}
	(void)waitpid(worker, &status, 0);
	return status;
}

/* False: it could not be run, or nobody can be blamed for its end. */
static bool keep(pid_t launcher, int socket, int jobs, int signals, struct packet *job)
{
	int64_t id;
	if (job->size != sizeof(id) || job->n_fds < PACKET_FDS_LEAST)
		return false;
	memcpy(&id, job->text, sizeof(id));
	/* Told to kill what has ended: not this one. */
	(void)told_to_kill(signals);
	pid_t worker = start_worker(job);
	/* The worker's pipes must be its own: their end is its end. */
	packet_close(job);
	if (worker < 0)
		return false;
	int status = wait_for(worker, signals);
	bool lingered = kin_end(NULL, NULL);
	/* Killed because the launcher died, perhaps: then nobody may be blamed. */
	if (getppid() != launcher)
		return false;
	/* First, so that the job that follows finds this one free. */
	return send(jobs, "", 1, MSG_NOSIGNAL) == 1 &&
	       tell_end(socket, id, status, lingered) == 0;
}

_Noreturn void keeper_run(pid_t launcher, int socket, int jobs)
{
	struct packet job;
	int got;
	int signals = process_signals(watched, 2);
	if (signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ||
		prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != launcher)
		_exit(EXIT_FAILURE);
	process_close_others((const int[]){socket, jobs, signals}, 3);
	while ((got = packet_receive(jobs, &job)) != 0)
		if (got > 0 && !keep(launcher, socket, jobs, signals, &job))
			_exit(EXIT_FAILURE);
	_exit(EXIT_SUCCESS);
}
