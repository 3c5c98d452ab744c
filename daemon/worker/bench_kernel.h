/* SPDX-License-Identifier: MIT */
/* One kernel, loaded and ready to be called on a case. */
#ifndef KP_WORKER_BENCH_KERNEL_H
#define KP_WORKER_BENCH_KERNEL_H

#include <jansson.h>

#include "daemon/worker/bench_case.h"
#include "daemon/worker/bench_host.h"
#include "daemon/worker/loaded.h"
#include "daemon/worker/report.h"

struct bench_kernel {
	struct kp_note note;
	struct loaded loaded;
	const struct kp_kernel *functions;
	struct bench_host host;
	struct kp_device device;
	struct kp_error error;
	struct kp_call call; /* of the case's tensors */
};

/*
 * Loads the plugin ("stored", "config" of the job), starts it, loads "kernel",
 * asks what it needs and plans, as a host does. The codes are verdicts:
 * unavailable, unsupported, error. Zero it first; it must not move afterwards.
 */
int bench_kernel_open(struct bench_kernel *kernel, const struct report *report,
	const json_t *job, struct bench_case *c, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Unloads and stops, as a host does at its end; not after a failure of open. */
void bench_kernel_close(struct bench_kernel *kernel, const struct report *report);

/* A raw status: 0 is KP_OK. For timing. */
static inline int bench_kernel_call(struct bench_kernel *kernel)
{
	kernel->host.used = 0;
	return kernel->functions->run(&kernel->call);
}

/* Codes as above. */
int bench_kernel_run(struct bench_kernel *kernel, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
