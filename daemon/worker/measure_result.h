/* SPDX-License-Identifier: MIT */
/* Results of a case: handed over by the reference, and held against a kernel's. */
#ifndef KP_WORKER_MEASURE_RESULT_H
#define KP_WORKER_MEASURE_RESULT_H

#include <jansson.h>
#include <stdbool.h>

#include "daemon/worker/measure_case.h"

/* The outputs, one after the other, as they lie in a contiguous case; written at the end.
 */
int measure_result_write(const struct measure_case *c, int fd, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Maps those of `count` seeds for reading, and expects the first. Codes bad_job,
 * no_memory.
 */
int measure_result_map(struct measure_case *c, int fd, size_t count, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* From now on those of this seed are expected. */
void measure_result_expect(struct measure_case *c, size_t index);

/*
 * Are all fences whole (else code out_of_bounds) and the outputs right (else
 * wrong)? Without expected results an output that is still poison throughout is wrong.
 * What lies between elements of an output was not touched (else out_of_bounds): such
 * outputs are spoiled by the check.
 */
int measure_result_check(struct measure_case *c, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* The verdict that a failed run or check comes to: its code, or error. */
const char *measure_verdict(const struct kp_diag *diag);
/* A number to be told: null where it is not known, or is none. A new reference. */
json_t *measure_number(double value, bool known);

#endif
