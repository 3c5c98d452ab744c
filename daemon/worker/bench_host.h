/* SPDX-License-Identifier: MIT */
/*
 * The services of a host (kplug/plugin.h) in a worker that measures: one thread,
 * scratch memory from one piece, logs to stderr, which is kept as evidence.
 */
#ifndef KP_WORKER_BENCH_HOST_H
#define KP_WORKER_BENCH_HOST_H

#include <stddef.h>

#include "kplug/plugin.h"

struct bench_host {
	struct kp_host host; /* what the plugin gets */
	char *scratch;
	size_t size, used;
};

/* Lives until the process ends. Without memory there is no scratch. */
void bench_host_init(struct bench_host *host);
/* Before each call: what the call before had is free again. */
void bench_host_reset(struct bench_host *host);

#endif
