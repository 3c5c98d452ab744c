/* SPDX-License-Identifier: MIT */
/* gemm/mm: C = A B, each element summed in double in the order of k. */
#include "kernels.h"
#include "operand.h"

enum { A, B, C, ROLES };

static const struct operand roles[ROLES] = {
	{"a", "mk", REAL, 0},
	{"b", "kn", REAL, 0},
	{"c", "mn", REAL, 0},
};

static double dot(struct row a, struct row b, int64_t k)
{
	double sum = 0;

	for (int64_t p = 0; p < k; p++)
		sum += row_get(a, p) * row_get(b, p);
	return sum;
}

static int run(const struct kp_call *call)
{
	const struct kp_tensor *t[ROLES];
	struct extents extents;
	int status = operands_take(call, roles, ROLES, t, &extents);
	int64_t m = extent(&extents, 'm'), n = extent(&extents, 'n');

	if (status != KP_OK)
		return status;
	for (int64_t i = 0; i < m; i++) {
		struct row out = operand_row(t[C], i);

		for (int64_t j = 0; j < n; j++) {
			struct row column = operand_line(t[B], j * t[B]->strides[1], 0);

			row_set(out, j,
				dot(operand_row(t[A], i), column, extent(&extents, 'k')));
		}
	}
	return KP_OK;
}

const struct kp_kernel gemm_mm = {KP_SIZED(struct kp_kernel), .run = run};
