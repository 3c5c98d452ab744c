/* SPDX-License-Identifier: MIT */
/*
 * The services of a host (kplug/plugin.h) in a worker that measures: a pool
 * of threads, scratch memory from one piece, logs to stderr, which is kept as evidence.
 */
#ifndef KP_WORKER_MEASURE_HOST_H
#define KP_WORKER_MEASURE_HOST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "kplug/plugin.h"
#include "lib/base/diag.h"
#include "lib/base/parallel.h"

struct measure_host {
	struct kp_host host; /* what the plugin gets */
	struct kp_parallel *pool;
	char *scratch;
	size_t size;
	atomic_size_t used;
	bool dirty; /* scratch holds no zeros */
};

/*
 * Must not move afterwards. Without memory there is no scratch. Codes of
 * kp_parallel_new.
 */
int measure_host_init(struct measure_host *host, unsigned threads, struct kp_diag *diag)
	__attribute__((warn_unused_result));
void measure_host_finish(struct measure_host *host);

/* Before each call: what the call before had is free again. */
static inline void measure_host_reset(struct measure_host *host)
{
	atomic_store_explicit(&host->used, 0, memory_order_relaxed);
}

#endif
