/* SPDX-License-Identifier: MIT */
/*
 * Where the tensors of a call lie for a kernel: on the host, in the memory that they are
 * filled and compared in, or on a GPU, which has a copy. Knows no tensor and no kernel.
 */
#ifndef KP_WORKER_DEVICE_H
#define KP_WORKER_DEVICE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "daemon/worker/cuda.h"
#include "kplug/plugin.h"
#include "lib/base/diag.h"

/* A piece of memory: what the host sees of it, and what a kernel gets. */
struct device_piece {
	const char *name; /* for people; borrowed */
	void *host;
	size_t bytes, align;
	void *address;
	void *base; /* of what was allocated for it on a GPU, guards and all; or NULL */
	size_t room;
};

struct device;

/* What differs between devices. Codes: error, out_of_bounds, no_memory. */
struct device_kind {
	const char *name;
	bool is_host; /* both are the same memory: nothing is copied, fences guard it */
	/* Gives the piece its address. */
	int (*place)(
		struct device *device, struct device_piece *piece, struct kp_diag *diag);
	void (*drop)(struct device *device, struct device_piece *piece);
	/* What the host sees to the device, and back. */
	int (*push)(struct device *device, const struct device_piece *piece,
		struct kp_diag *diag);
	int (*pull)(struct device *device, const struct device_piece *piece,
		struct kp_diag *diag);
	/* Are its guards whole, and (a role that is only read) is it as it was pushed? */
	int (*check)(struct device *device, const struct device_piece *piece,
		bool is_input, struct kp_diag *diag);
	/* Bytes that are no number, over all of it. */
	int (*soil)(struct device *device, const struct device_piece *piece,
		struct kp_diag *diag);
	/* Until all that was enqueued is done; what failed meanwhile is told. */
	int (*wait)(struct device *device, struct kp_diag *diag);
};

/* Zero it; it must not move once it is open. */
struct device {
	const struct device_kind *kind;
	struct kp_device told; /* what plugins are told */
	struct kp_place place;
	void *stream;
	struct cuda cuda;
	int number; /* the driver's */
};

extern const struct device_kind device_host, device_cuda;

/*
 * The device of a job: "device" {"id", "vendor"}, without which it is the host. id is
 * "gpu-" and a PCI address, or else the first one. Of a GPU the primary context is made
 * current, as an application would, and has a stream of its own. Codes unavailable,
 * error.
 */
int device_open(struct device *device, const json_t *job, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Of device_cuda.c. */
int device_cuda_open(struct device *device, const char *id, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
