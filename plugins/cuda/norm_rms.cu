/* SPDX-License-Identifier: MIT */
/* norm/rms: each row over the root of its mean square, times a weight. */
#include "rows.cuh"

template <typename R, typename G>
static __device__ __forceinline__ void rms(const struct row_parameters &p)
{
	for (int64_t i = G::first_row(); i < p.rows; i += G::rows_at_once()) {
		R row(p, i);
		float squares = 0;

		row.each([&](float x) { squares += x * x; });
		squares = G::template join<sum_of>(squares);
		float factor = rsqrtf(squares / (float)p.n + (float)p.eps);

		row.write([&](float x) { return x * factor; });
	}
}

ROW_KERNELS(rms, rms)
