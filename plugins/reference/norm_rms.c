/* SPDX-License-Identifier: MIT */
/* norm/rms: each row over the root of its mean square, times a weight. */
#include <math.h>

#include "kernels.h"
#include "operand.h"

enum { X, WEIGHT, Y, ROLES };
enum { EPS };

static const struct operand roles[ROLES] = {
	{"x", "rn", REAL, 0},
	{"weight", "n", REAL, 1},
	{"y", "rn", REAL, 0},
};

static double mean_square(struct row x, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++) {
		double value = row_get(x, i);

		sum += value * value;
	}
	return sum / (double)n;
}

/* y may be x: the mean is known before the first element is written. */
static void normalize(
	struct row x, const struct row *weight, struct row y, int64_t n, double eps)
{
	double factor = 1 / sqrt(mean_square(x, n) + eps);

	for (int64_t i = 0; i < n; i++) {
		double value = row_get(x, i) * factor;

		if (weight)
			value *= row_get(*weight, i);
		row_set(y, i, value);
	}
}

static int run(const struct kp_call *call)
{
	const struct kp_tensor *t[ROLES];
	struct extents extents;
	struct row weight = {0};
	int status = operands_take(call, roles, ROLES, t, &extents);

	if (status != KP_OK)
		return status;
	if (t[WEIGHT])
		weight = operand_line(t[WEIGHT], 0, 0);
	for (int64_t i = 0; i < extent(&extents, 'r'); i++)
		normalize(operand_row(t[X], i), t[WEIGHT] ? &weight : NULL,
			operand_row(t[Y], i), extent(&extents, 'n'),
			operand_real(call, EPS, 1e-6));
	return KP_OK;
}

const struct kp_kernel norm_rms = {KP_SIZED(struct kp_kernel), .run = run};
