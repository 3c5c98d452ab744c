/* SPDX-License-Identifier: MIT */
/* What kernels get of the host (struct kp_host): threads, scratch memory, the log. */
#ifndef KP_LIB_HOST_SERVICES_H
#define KP_LIB_HOST_SERVICES_H

#include "kplug/host.h"
#include "lib/base/diag.h"
#include "lib/base/parallel.h"
#include "lib/host/log.h"

struct kp_services {
	struct kp_host host;
	struct kp_parallel *pool; /* NULL: one thread */
	const struct kp_log *log;
	struct kp_slot *slots; /* for the threads of the pool; NULL: none */
};

/* Must not move afterwards; log is borrowed. Codes of kp_parallel_new. */
int kp_services_init(struct kp_services *services, unsigned threads,
	const struct kp_log *log, struct kp_diag *diag)
	__attribute__((warn_unused_result));
void kp_services_finish(struct kp_services *services);

/* What plugins are started with, which outlives every handle: one thread. */
extern const struct kp_host kp_services_process;

#endif
