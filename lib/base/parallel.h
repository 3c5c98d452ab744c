/* SPDX-License-Identifier: MIT */
/*
 * Threads that a host lends to kernels: parallel_for of kplug/plugin.h. Knows no
 * kernel and no plugin; the tasks are somebody else's code.
 */
#ifndef KP_LIB_PARALLEL_H
#define KP_LIB_PARALLEL_H

#include <stdint.h>

#include "lib/base/diag.h"

enum { KP_PARALLEL_MOST = 1024 };

struct kp_parallel;

/*
 * A pool for loops that `threads` threads share: those that call, and threads - 1
 * of its own, which sleep between loops and take no signals. Codes: bad_threads
 * (none, or above KP_PARALLEL_MOST), no_memory, no_threads.
 */
int kp_parallel_new(unsigned threads, struct kp_parallel **pool, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Not while a loop runs. NULL is allowed. */
void kp_parallel_free(struct kp_parallel *pool);

/* The number that it was made for. */
unsigned kp_parallel_threads(const struct kp_parallel *pool);

/*
 * Runs task(arg, i) once for each i in [0, n), in any order, the calling thread
 * taking part, and returns when all are done: 0, or the status of the lowest index
 * whose status was not 0. What the tasks wrote is seen by the caller. From any
 * thread; a loop that comes while another one runs, also from inside a task, is
 * run by its caller alone.
 */
int kp_parallel_for(struct kp_parallel *pool, uint64_t n,
	int (*task)(void *arg, uint64_t i), void *arg);

#endif
