/* SPDX-License-Identifier: MIT */
/*
 * The services of a host (kplug/plugin.h) in a worker that measures: one thread,
 * scratch memory from one piece, logs to stderr, which is kept as evidence.
 */
#ifndef KP_WORKER_MEASURE_HOST_H
#define KP_WORKER_MEASURE_HOST_H

#include <stddef.h>

#include "kplug/plugin.h"

struct measure_host {
	struct kp_host host; /* what the plugin gets */
	char *scratch;
	size_t size, used;
};

/* Lives until the process ends. Without memory there is no scratch. */
void measure_host_init(struct measure_host *host);
/* Before each call: what the call before had is free again. */
void measure_host_reset(struct measure_host *host);

#endif
