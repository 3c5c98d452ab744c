/* SPDX-License-Identifier: MIT */
/*
 * The parent of one worker: adopts what the worker leaves behind, so that it is
 * known whose it is, and ends it.
 */
#ifndef KP_WORKER_KEEPER_H
#define KP_WORKER_KEEPER_H

#include <stdint.h>
#include <sys/types.h>

#include "daemon/worker/process.h"

/* Descriptors of a job as they came with it. */
struct keeper_job {
	int64_t id;
	int job, report, output;
	int fds[PROCESS_FDS_MOST];
	size_t n_fds;
};

/*
 * In a fresh child of the launcher: runs the job in a child of its own, waits for
 * its end, ends its kin and tells the daemon over `socket`. SIGTERM kills the
 * worker; so does the death of the launcher, which the daemon sees by itself.
 * Exit status 0: the daemon has been told.
 */
_Noreturn void keeper_run(pid_t launcher, int socket, const struct keeper_job *job);

/* {"ended": id, "status": wait status, "lingered": bool}; 0 or -1. */
int keeper_tell(int socket, int64_t id, int status, int lingered);

#endif
