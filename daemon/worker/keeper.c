/* SPDX-License-Identifier: MIT */
/* Keeps one worker: waits for it, kills it when told so, ends its kin. */
#include "daemon/worker/keeper.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/worker/job.h"
#include "daemon/worker/kin.h"

static const int watched[] = {SIGCHLD, SIGTERM};

int keeper_tell(int socket, int64_t id, int status, int lingered)
{
	char text[128];
	int n = snprintf(text, sizeof(text),
		"{\"ended\": %lld, \"status\": %d, \"lingered\": %s}", (long long)id,
		status, lingered ? "true" : "false");
	return send(socket, text, (size_t)n, MSG_NOSIGNAL) == n ? 0 : -1;
}

static pid_t start_worker(const struct keeper_job *job)
{
	pid_t keeper = getpid();
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	process_become_worker(
		keeper, job->report, job->job, job->output, job->fds, job->n_fds);
	job_run(job->n_fds, false);
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

_Noreturn void keeper_run(pid_t launcher, int socket, const struct keeper_job *job)
{
	int signals = process_signals(watched, 2);
	if (signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ||
		prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != launcher)
		_exit(EXIT_FAILURE);
	pid_t worker = start_worker(job);
	if (worker < 0)
		_exit(EXIT_FAILURE);
	/* The worker's pipes must be its own: their end is its end. */
	process_close_others((const int[]){socket, signals}, 2);
	int status = wait_for(worker, signals);
	bool lingered = kin_end(NULL, NULL);
	/* Killed because the launcher died, perhaps: then nobody may be blamed. */
	if (getppid() != launcher)
		_exit(EXIT_FAILURE);
	_exit(keeper_tell(socket, job->id, status, lingered) == 0 ? EXIT_SUCCESS
								  : EXIT_FAILURE);
}
