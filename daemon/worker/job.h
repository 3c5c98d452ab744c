/* SPDX-License-Identifier: MIT */
/* A job: its text is read, its kind found and run. */
#ifndef KP_WORKER_JOB_H
#define KP_WORKER_JOB_H

#include <stdbool.h>
#include <stddef.h>

struct sandbox;

/*
 * In a worker's process (process.h), with n descriptors of the job: confines it, runs the
 * job and ends the process. A kind that wants a fresh process image gets one, unless
 * `fresh` says that this is it.
 */
_Noreturn void job_run(size_t n, const struct sandbox *sandbox, bool fresh);

#endif
