/* SPDX-License-Identifier: MIT */
/* One kernel, loaded and ready to be called on a case. */
#ifndef KP_WORKER_MEASURE_KERNEL_H
#define KP_WORKER_MEASURE_KERNEL_H

#include <jansson.h>

#include "daemon/worker/loaded.h"
#include "daemon/worker/measure_case.h"
#include "daemon/worker/measure_host.h"
#include "daemon/worker/report.h"

struct measure_kernel {
	struct kp_note note;
	struct loaded loaded;
	const struct kp_kernel *functions;
	struct measure_host host;
	struct device *device;
	struct kp_error error;
	struct kp_call call; /* of the case's tensors */
	const char *kind;    /* of the job, for stages */

	/*
	 * What a kernel gets without a promise holds no zeros: memory, and what others
	 * left on the stack. Set it before the kernel is opened.
	 */
	bool dirty;
	const struct device_piece *workspace, *plan; /* NULL: none */
	bool changes_floats; /* a run left another rounding or flushing behind */
};

/*
 * Loads the plugin ("stored", "config", "threads" of the job), starts it and loads
 * "kernel" for the device, as a host does. The codes are verdicts: unavailable,
 * unsupported, error. Zero it first; it must not move afterwards.
 */
int measure_kernel_open(struct measure_kernel *kernel, const struct report *report,
	const json_t *job, struct device *device, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * Asks what it needs for the tensors of the case and gives it that, among the case's
 * fences; then measure_kernel_plan. Codes as above.
 */
int measure_kernel_attach(struct measure_kernel *kernel, const struct report *report,
	struct measure_case *c, struct kp_diag *diag) __attribute__((warn_unused_result));
/* Once for each contents of the tensors. */
int measure_kernel_plan(struct measure_kernel *kernel, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* `need` for other tensors than the case's; a kernel without it needs nothing. */
int measure_kernel_need(struct measure_kernel *kernel,
	const struct kp_tensor *const *tensors, struct kp_need *need,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* Unloads and stops, as a host does at its end; not after a failure of open. */
void measure_kernel_close(struct measure_kernel *kernel, const struct report *report);

/* A raw status: 0 is KP_OK. For timing. */
static inline int measure_kernel_call(struct measure_kernel *kernel)
{
	measure_host_reset(&kernel->host);
	return kernel->functions->run(&kernel->call);
}

/* 0 for KP_OK, else *diag with a code as above: `function` returned this. */
int measure_kernel_judge(struct measure_kernel *kernel, const char *function, int raw,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* Codes as above. */
int measure_kernel_run(struct measure_kernel *kernel, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
