/* SPDX-License-Identifier: MIT */
/* norm/softmax: the softmax of each row; a row that is -inf throughout becomes 0. */
#include "rows.cuh"

template <typename R, typename G>
static __device__ __forceinline__ void softmax(const struct row_parameters &p)
{
	const float none = __uint_as_float(0xff800000u); /* -inf */

	for (int64_t i = G::first_row(); i < p.rows; i += G::rows_at_once()) {
		R row(p, i);
		float most = none, sum = 0;

		row.each([&](float x) { most = kp_max(most, x); });
		most = G::template join<most_of>(most);
		row.each([&](float x) { sum += kp_exp2((x - most) * KP_LOG2_E); });
		sum = G::template join<sum_of>(sum);
		float scale = most == none ? 0 : 1 / sum;

		row.write([&](float x) {
			return most == none ? 0 : kp_exp2((x - most) * KP_LOG2_E) * scale;
		});
	}
}

ROW_KERNELS(softmax, softmax)
