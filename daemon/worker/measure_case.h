/* SPDX-License-Identifier: MIT */
/*
 * What a kernel is measured on: the tensors and attributes of one call of a
 * family, in fenced memory, and the results that are expected. Knows no kernel.
 */
#ifndef KP_WORKER_MEASURE_CASE_H
#define KP_WORKER_MEASURE_CASE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/worker/device.h"
#include "daemon/worker/fence.h"
#include "kplug/plugin.h"
#include "lib/family/compare.h"
#include "lib/family/family.h"
#include "lib/family/format.h"
#include "lib/family/tensor.h"

enum { MEASURE_ATTRIBUTES = 64, MEASURE_PIECES = 16 };

struct kp_placement;

struct measure_case {
	struct kp_family family;
	struct kp_signature signature;
	struct kp_shape shape;
	uint64_t seed;
	struct fences fences;
	struct device *device; /* where a kernel has them */

	/* In the family's order; a role that is absent has tensors[i] NULL. */
	struct kp_layout plain[KP_FAMILY_ROLES];   /* as results are handed over */
	struct kp_layout layouts[KP_FAMILY_ROLES]; /* as they lie in `memory` */
	struct kp_tensor memory[KP_FAMILY_ROLES];  /* as the host sees them */
	struct device_piece pieces[KP_FAMILY_ROLES];
	struct kp_tensor passed[KP_FAMILY_ROLES]; /* as a kernel does */
	const struct kp_tensor *tensors[KP_FAMILY_ROLES];
	struct fence *places[KP_FAMILY_ROLES];
	size_t owners[KP_FAMILY_ROLES]; /* whose memory it is: another's in place */
	union kp_value attributes[MEASURE_ATTRIBUTES];
	size_t n_more;
	struct device_piece more[MEASURE_PIECES]; /* what a kernel needs beside them */

	/* Of the outputs for each seed, mapped; NULL: not known. */
	const unsigned char *results, *expected;
	size_t results_size;
	double error, tolerance; /* the largest share of its tolerance so far */
	bool compared;
	bool drifts; /* a role is read and written: each call sees other inputs */
};

/*
 * Reads "family", "signature", "shape", "attributes" and "seed" of the job. Codes of
 * lib/family/family.h and lib/family/tensor.h; too_large when the tensors do not fit half
 * of the machine's memory. Zero it first; it must not move afterwards, and is freed by
 * the end of the process.
 */
int measure_case_init(struct measure_case *c, const json_t *job, struct device *device,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* May so much be added to what is there? The code is too_large. */
int measure_case_check_room(const struct measure_case *c, const char *name, size_t bytes,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * Memory for a kernel on the device, among the fences; NULL with *diag. It is there until
 * the case is mapped again.
 */
struct device_piece *measure_case_add(struct measure_case *c, const char *name,
	size_t bytes, size_t align, struct kp_diag *diag);

/* Gives it new tensors that lie so, instead of those that it had; to be filled. */
int measure_case_map(struct measure_case *c, const struct kp_placement *layout,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* Fills the inputs; codes of lib/family/fill.h. */
int measure_case_fill(struct measure_case *c, uint64_t seed, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Makes the outputs such that what a kernel leaves alone is seen; inputs as at first. */
int measure_case_poison(struct measure_case *c, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * What the device has of the outputs, for the host to see. Code out_of_bounds where a
 * guard on the device is spoiled or an input changed.
 */
int measure_case_pull(struct measure_case *c, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Is the role written? */
bool measure_case_is_output(const struct measure_case *c, size_t role);

/* Are there bytes between its elements? */
bool measure_case_has_gaps(const struct measure_case *c, size_t role);

enum { MEASURE_GAP = 0xa5 }; /* each byte between the elements of an output */

#endif
