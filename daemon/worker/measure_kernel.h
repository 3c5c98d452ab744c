/* SPDX-License-Identifier: MIT */
/* One kernel, loaded and ready to be called on a case. */
#ifndef KP_WORKER_MEASURE_KERNEL_H
#define KP_WORKER_MEASURE_KERNEL_H

#include <jansson.h>

#include "daemon/worker/measure_case.h"
#include "daemon/worker/measure_host.h"
#include "daemon/worker/loaded.h"
#include "daemon/worker/report.h"

struct measure_kernel {
	struct kp_note note;
	struct loaded loaded;
	const struct kp_kernel *functions;
	struct measure_host host;
	struct kp_device device;
	struct kp_error error;
	struct kp_call call; /* of the case's tensors */
};

/*
 * Loads the plugin ("stored", "config", "threads" of the job), starts it, loads "kernel",
 * asks what it needs and plans, as a host does. The codes are verdicts:
 * unavailable, unsupported, error. Zero it first; it must not move afterwards.
 */
int measure_kernel_open(struct measure_kernel *kernel, const struct report *report,
	const json_t *job, struct measure_case *c, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Unloads and stops, as a host does at its end; not after a failure of open. */
void measure_kernel_close(struct measure_kernel *kernel, const struct report *report);

/* A raw status: 0 is KP_OK. For timing. */
static inline int measure_kernel_call(struct measure_kernel *kernel)
{
	measure_host_reset(&kernel->host);
	return kernel->functions->run(&kernel->call);
}

/* Codes as above. */
int measure_kernel_run(struct measure_kernel *kernel, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
