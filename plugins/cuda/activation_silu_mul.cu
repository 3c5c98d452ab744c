/* SPDX-License-Identifier: MIT */
/* activation/silu_mul: the gate of a gated feed-forward layer. */
#include "map.cuh"

/* x / (1 + exp(-x)) * up; 0 for a large negative x, where exp overflows. */
struct silu_mul {
	enum { binary = 1 };

	static __device__ __forceinline__ float of(float x, float up)
	{
		return kp_divide(x, 1 + kp_exp2(-KP_LOG2_E * x)) * up;
	}
};

MAP_KERNELS(silu_mul, silu_mul)
