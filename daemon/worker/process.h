/* SPDX-License-Identifier: MIT */
/* What a worker's process must look like before anything of a job runs in it. */
#ifndef KP_WORKER_PROCESS_H
#define KP_WORKER_PROCESS_H

#include <stddef.h>
#include <sys/types.h>

/* Where a worker has its descriptors; those of the job follow. */
enum {
	PROCESS_REPORT = 3,
	PROCESS_JOB = 4,
	PROCESS_GATE = 5, /* where there is one: sandbox.h */
	PROCESS_FDS = 6,
	PROCESS_FDS_MOST = 32,
};

/* All signals do what they do by default; for the launcher, of which workers are. */
void process_default_signals(void);

/*
 * In a fresh child of `parent`: a session of its own, killed with its parent,
 * no signal blocked, first to go when memory is short, cwd "/", umask 022,
 * /dev/null as stdin, `output` as stdout and stderr (unbuffered), report, job, gate (or
 * -1) and the n fds at their places, and no other descriptor. Ends the process when it
 * cannot be made so.
 */
struct process_fds {
	int report, job, output, gate;
	const int *more;
	size_t n;
};
void process_become_worker(pid_t parent, const struct process_fds *fds);

/*
 * Moves a descriptor to a number above that nobody knows before, close-on-exec, so that
 * it is not hit by who writes to 3; returns it. Where it cannot, it stays.
 */
int process_hide(int fd);

/* All but the standard descriptors and these. */
void process_close_others(const int *keep, size_t n);

/* Blocks the signals and returns a descriptor that reads them; -1 with errno. */
int process_signals(const int *signals, size_t n);

#endif
