/* SPDX-License-Identifier: MIT */
/* Does the sample of a call hold against the reference? Knows no kernel. */
#ifndef KP_LIB_HOST_GUARD_VERDICT_H
#define KP_LIB_HOST_GUARD_VERDICT_H

#include "lib/family/compare.h"
#include "lib/host/sample.h"

/* What is wrong: the output's worst element, by its place in the call's tensor. */
struct kp_wrong {
	size_t role;
	int64_t place[KP_FAMILY_RANK];
	double result, reference; /* the result may be no number */
	struct kp_comparison comparison;
};

/* Computes the outputs of these tensors anew: 0, or *diag. */
typedef int kp_compute_fn(
	void *context, const struct kp_tensor *const *tensors, struct kp_diag *diag);

/*
 * 0: right; 1: *wrong says what is not; -1: it cannot be told: codes of compute, of
 * kp_compare, no_memory.
 *
 * Part of an output may be small by cancellation where the whole of it is not, so that a
 * right kernel seems far off. What the check refuses is therefore computed again from
 * inputs that differ by a few units of their last place or a quarter of the tolerance: a
 * result is right, too, if it is no farther from the reference than those are. (Higham,
 * Accuracy and Stability of Numerical Algorithms, 1.6: the error that a backward stable
 * algorithm makes is that of slightly other inputs.) Where the reference itself is not
 * finite nothing is compared.
 */
int kp_guard_verdict(struct kp_sample *sample, kp_compute_fn *compute, void *context,
	struct kp_wrong *wrong, struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
