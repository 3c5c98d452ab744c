/* SPDX-License-Identifier: MIT */
/*
 * Times a kernel on a GPU: by events of the caller's stream around each sample, with
 * caches cold, since each call has other tensors than those before it. A kernel that
 * takes less than 50 us and may be captured runs as a graph of ten calls. What was right
 * before is checked between samples 1, 2, 4, 8, ... on the tensors of the case.
 */
#ifndef KP_WORKER_MEASURE_GPU_H
#define KP_WORKER_MEASURE_GPU_H

#include "daemon/worker/measure_clock.h"

struct measure_gpu {
	size_t sets; /* of tensors, used in turn; 0: nothing was timed on a GPU */
	bool is_cold, is_graph;
	double copy_gbytes_per_s; /* read and written, as fast as this device copies */
	double clock_mhz;	  /* the highest that it has; it is left as it is */
};

/*
 * As measure_time. Also error, "implausible: ...": the bytes that the family says a call
 * moves are more than 1.05 times what the device copies in that time.
 */
int measure_gpu_time(struct measure_kernel *kernel, struct measure_case *c,
	const struct measure_wish *wish, struct measure_times *times,
	struct measure_gpu *gpu, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
