/* SPDX-License-Identifier: MIT */
/* What a worker may use of the machine, and the privileges that it gives up. */
#ifndef KP_WORKER_LIMITS_H
#define KP_WORKER_LIMITS_H

#include <stdbool.h>

struct limits_wish {
	bool measures;	     /* inputs and results are as large as they are */
	bool gpu;	     /* a driver opens many devices */
	unsigned timeout_ms; /* or 0 */
};

/*
 * From now on: no core, a bound on its stack, on memory of its own and the addresses that
 * it may come to (not where a sanitizer needs them, nor on the addresses of a GPU), on
 * files and their size, on the time of all its threads together, on how many threads
 * there are more than now, on signals that wait; and no capability. Nothing of it can be
 * taken back. -1 with errno.
 */
int limits_enter(const struct limits_wish *wish) __attribute__((warn_unused_result));

#endif
