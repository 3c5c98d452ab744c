/* SPDX-License-Identifier: MIT */
/* Is a result what the reference says? The checks of a family (lib/family/family.h). */
#ifndef KP_LIB_COMPARE_H
#define KP_LIB_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "kplug/plugin.h"
#include "lib/base/diag.h"
#include "lib/family/family.h"

/*
 * error is what was held against tolerance, INFINITY (null in JSON) where the
 * result has something that is not finite. Indexes count elements in row-major order.
 */
struct kp_comparison {
	bool right;
	double error, tolerance;
	double largest;		  /* |result - reference| of the worst finite element */
	size_t n_wrong;		  /* elements that are wrong by themselves */
	bool has_first;		  /* first, result and reference are set: not right */
	size_t first;		  /* the first wrong element, else the worst */
	double result, reference; /* there */
};

/* The tolerance of a family for outputs of this dtype; 0 where it has none. */
double kp_compare_tolerance(const struct kp_family *family, struct kp_dtype dtype);

/*
 * Compares two tensors on the CPU of the same shape, of any dtypes and strides, no
 * more than KP_FAMILY_RANK dims.
 *
 * norm   |result - reference| / |reference| <= tolerance in the Euclidean
 *        norm (Golub, Van Loan, Matrix Computations, 2.3), and no element is
 *        off by more than 8 times tolerance of the reference's largest
 *        magnitude, which a norm over many elements would hide. Where the
 *        reference is 0 throughout, magnitudes are absolute.
 * exact  every element has the same value.
 * set    in every row of the last dim the same values, in any order; n_wrong
 *        counts places of the sorted rows, first is where its row starts.
 *
 * NaN or infinity, in the result or in the reference, is wrong whatever the tolerance.
 *
 * Codes: shapes_differ, bad_dtype, unsupported_check (distributions), no_memory.
 * A wrong result is no error: 0 is returned and comparison->right is false.
 */
int kp_compare(enum kp_check_kind kind, const struct kp_tensor *result,
	const struct kp_tensor *reference, double tolerance,
	struct kp_comparison *comparison, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* "element 17 is 0.5, the reference 0.25; error 1e-1, allowed 1e-5". Returns `text`. */
const char *kp_comparison_print(
	const struct kp_comparison *comparison, char *text, size_t size);

#endif
