/* SPDX-License-Identifier: MIT */
/* norm/softmax: the softmax of each row. */
#include <math.h>

#include "kernels.h"
#include "operand.h"

enum { X, Y, ROLES };

static const struct operand roles[ROLES] = {
	{"x", "rn", REAL, 0},
	{"y", "rn", REAL, 0},
};

/* The greatest element; not-a-number when there is one among them. */
static double greatest(struct row x, int64_t n)
{
	double most = -HUGE_VAL;

	for (int64_t i = 0; i < n; i++) {
		double value = row_get(x, i);

		if (value > most || isnan(value))
			most = value;
		if (isnan(most))
			break;
	}
	return most;
}

static void zero(struct row y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		row_set(y, i, 0);
}

/* y may be x: an element is read for the last time when it is written. */
static void softmax(struct row x, struct row y, int64_t n)
{
	double most = greatest(x, n), sum = 0;

	if (most == -HUGE_VAL) {
		zero(y, n);
		return;
	}
	for (int64_t i = 0; i < n; i++)
		sum += exp(row_get(x, i) - most);
	for (int64_t i = 0; i < n; i++)
		row_set(y, i, exp(row_get(x, i) - most) / sum);
}

static int run(const struct kp_call *call)
{
	const struct kp_tensor *t[ROLES];
	struct extents extents;
	int status = operands_take(call, roles, ROLES, t, &extents);

	if (status != KP_OK)
		return status;
	for (int64_t i = 0; i < extent(&extents, 'r'); i++)
		softmax(operand_row(t[X], i), operand_row(t[Y], i),
			extent(&extents, 'n'));
	return KP_OK;
}

const struct kp_kernel norm_softmax = {KP_SIZED(struct kp_kernel), .run = run};
