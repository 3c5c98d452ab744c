/* SPDX-License-Identifier: MIT */
/*
 * The parent of one worker at a time: adopts what the worker leaves behind, so that it
 * is known whose it is, and ends it before the next begins.
 */
#ifndef KP_WORKER_KEEPER_H
#define KP_WORKER_KEEPER_H

#include <sys/types.h>

/*
 * In a fresh child of the launcher: for each packet from `jobs` (packet.h), the job's
 * number and its descriptors, runs the job in a child of its own, waits for its end,
 * answers for what its sandbox refuses, ends its kin, sends `jobs` a byte, being free
 * again, and tells the daemon over `socket`. SIGTERM kills the worker; so does the death
 * of the launcher, which the daemon sees by itself. Ends with 0 at the end of `jobs`.
 */
struct sandbox;
_Noreturn void keeper_run(
	pid_t launcher, int socket, int jobs, const struct sandbox *sandbox);

#endif
