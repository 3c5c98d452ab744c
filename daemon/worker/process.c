/* SPDX-License-Identifier: MIT */
/* Makes a process into a worker: signals, session, descriptors. */
#include "daemon/worker/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HIDE_BELOW = 1024 };

static void must(int result)
{
	if (result < 0)
		_exit(EXIT_FAILURE);
}

int process_signals(const int *signals, size_t n)
{
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < n; i++)
		sigaddset(&set, signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void process_default_signals(void)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};
	/* Some numbers are the C library's own and are refused: no matter. */
	for (int number = 1; number < NSIG; number++)
		(void)sigaction(number, &plain, NULL);
}

static void let_signals_in(void)
{
	sigset_t none;
	sigemptyset(&none);
	must(sigprocmask(SIG_SETMASK, &none, NULL));
}

/* Rather this one than the daemon, or who else is there. Raising is always allowed. */
static void be_first_to_go(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)!write(fd, "1000", 4);
	(void)close(fd);
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

void process_close_others(const int *keep, size_t n)
{
	int sorted[16] = {0};
	n = n < 16 ? n : 16;
	for (size_t i = 0; i < n; i++)
		sorted[i] = keep[i];
	qsort(sorted, n, sizeof(sorted[0]), compare);
	unsigned next = 3;
	for (size_t i = 0; i < n; i++) {
		if (sorted[i] < (int)next)
			continue;
		if (sorted[i] > (int)next)
			(void)close_range(next, (unsigned)sorted[i] - 1, 0);
		next = (unsigned)sorted[i] + 1;
	}
	(void)close_range(next, ~0u, 0);
}

/* Over all places first: a descriptor may sit where another one belongs. */
static int lift(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, 64);
	must(high);
	return high;
}

static void place(const struct process_fds *fds, size_t n)
{
	int high[PROCESS_FDS_MOST];
	int null = lift(open("/dev/null", O_RDONLY | O_CLOEXEC));
	int report = lift(fds->report);
	int job = lift(fds->job);
	int output = lift(fds->output);
	int gate = fds->gate < 0 ? -1 : lift(fds->gate);
	for (size_t i = 0; i < n; i++)
		high[i] = lift(fds->more[i]);
	must(dup2(null, STDIN_FILENO));
	must(dup2(output, STDOUT_FILENO));
	must(dup2(output, STDERR_FILENO));
	must(dup3(report, PROCESS_REPORT, O_CLOEXEC));
	must(dup3(job, PROCESS_JOB, O_CLOEXEC));
	if (gate < 0)
		(void)close(PROCESS_GATE);
	else
		must(dup3(gate, PROCESS_GATE, O_CLOEXEC));
	for (size_t i = 0; i < n; i++)
		must(dup3(high[i], PROCESS_FDS + (int)i, O_CLOEXEC));
	(void)close_range(PROCESS_FDS + (unsigned)n, ~0u, 0);
}

void process_become_worker(pid_t parent, const struct process_fds *fds)
{
	must(setsid());
	must(prctl(PR_SET_PDEATHSIG, SIGKILL));
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	place(fds, fds->n < PROCESS_FDS_MOST ? fds->n : PROCESS_FDS_MOST);
	be_first_to_go();
	must(chdir("/"));
	umask(022);
	let_signals_in();
	/* It may die at any time, and what it printed before is evidence. */
	setvbuf(stdout, NULL, _IONBF, 0);
}

int process_hide(int fd)
{
	struct rlimit limit;
	unsigned chosen;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
		getrandom(&chosen, sizeof(chosen), 0) != (ssize_t)sizeof(chosen))
		return fd;
	/* Of what is left, the upper three quarters, in a table that stays small. */
	unsigned end =
		limit.rlim_cur < HIDE_BELOW ? (unsigned)limit.rlim_cur : HIDE_BELOW;
	unsigned start = end / 4;
	if (end == start)
		return fd;
	int hidden = fcntl(fd, F_DUPFD_CLOEXEC, (int)(start + chosen % (end - start)));
	if (hidden < 0)
		return fd;
	(void)close(fd);
	return hidden;
}
