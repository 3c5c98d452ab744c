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

#include "daemon/worker/fence.h"
#include "kplug/plugin.h"
#include "lib/compare.h"
#include "lib/family.h"
#include "lib/format.h"
#include "lib/tensor.h"

enum { MEASURE_ATTRIBUTES = 64 };

struct kp_placement;

struct measure_case {
	struct kp_family family;
	struct kp_signature signature;
	struct kp_shape shape;
	uint64_t seed;
	struct fences fences;

	/* In the family's order; a role that is absent has tensors[i] NULL. */
	struct kp_layout plain[KP_FAMILY_ROLES];   /* as results are handed over */
	struct kp_layout layouts[KP_FAMILY_ROLES]; /* as they lie in `memory` */
	struct kp_tensor memory[KP_FAMILY_ROLES];
	const struct kp_tensor *tensors[KP_FAMILY_ROLES];
	struct fence *places[KP_FAMILY_ROLES];
	size_t owners[KP_FAMILY_ROLES]; /* whose memory it is: another's in place */
	union kp_value attributes[MEASURE_ATTRIBUTES];

	/* Of the outputs for each seed, mapped; NULL: not known. */
	const unsigned char *results, *expected;
	size_t results_size;
	double error, tolerance; /* the largest share of its tolerance so far */
	bool compared;
	bool drifts; /* a role is read and written: each call sees other inputs */
};

/*
 * Reads "family", "signature", "shape", "attributes" and "seed" of the job. Codes of
 * lib/family.h and lib/tensor.h; too_large when the tensors do not fit half of the
 * machine's memory. Zero it first; it must not move afterwards, and is freed by the end
 * of the process.
 */
int measure_case_init(struct measure_case *c, const json_t *job, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Gives it new tensors that lie so, instead of those that it had; to be filled. */
int measure_case_map(struct measure_case *c, const struct kp_placement *layout,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* Fills the inputs; codes of lib/fill.h. */
int measure_case_fill(struct measure_case *c, uint64_t seed, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Makes the outputs such that what a kernel leaves alone is seen; inputs as at first. */
int measure_case_poison(struct measure_case *c, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Is the role written? */
bool measure_case_is_output(const struct measure_case *c, size_t role);

/* Are there bytes between its elements? */
bool measure_case_has_gaps(const struct measure_case *c, size_t role);

enum { MEASURE_GAP = 0xa5 }; /* each byte between the elements of an output */

#endif
