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

struct measure_case {
	struct kp_family family;
	struct kp_signature signature;
	struct kp_shape shape;
	uint64_t seed;
	struct fences fences;

	/* In the family's order; a role that is absent has tensors[i] NULL. */
	struct kp_layout layouts[KP_FAMILY_ROLES];
	struct kp_tensor memory[KP_FAMILY_ROLES];
	const struct kp_tensor *tensors[KP_FAMILY_ROLES];
	union kp_value attributes[MEASURE_ATTRIBUTES];

	const unsigned char *expected; /* of the outputs, mapped; NULL: not known */
	size_t expected_size;
	double error, tolerance; /* the largest share of its tolerance so far */
	bool compared;
	bool drifts; /* a role is read and written: each call sees other inputs */
};

/*
 * Reads "family", "signature", "shape", "attributes" and "seed" of the job, maps and
 * fills the tensors. Codes of lib/family.h, lib/tensor.h and lib/fill.h; too_large when
 * the tensors do not fit half of the machine's memory. Zero it first; it must not move
 * afterwards, and is freed by the end of the process.
 */
int measure_case_init(struct measure_case *c, const json_t *job, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Makes the outputs such that what a kernel leaves alone is seen; inputs as at first. */
int measure_case_poison(struct measure_case *c, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* The results in a file, one after the other; written, and mapped for reading. */
int measure_case_write_expected(const struct measure_case *c, int fd,
	struct kp_diag *diag) __attribute__((warn_unused_result));
int measure_case_map_expected(struct measure_case *c, int fd, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * Are all fences whole (else code out_of_bounds) and the outputs right (else
 * wrong)? Without expected results an output that is still poison throughout is wrong.
 */
int measure_case_check(struct measure_case *c, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
