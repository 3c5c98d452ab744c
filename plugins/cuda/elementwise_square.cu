/* SPDX-License-Identifier: MIT */
/* elementwise/square: y = x * x. */
#include "map.cuh"

struct square {
	enum { binary = 0 };

	static __device__ __forceinline__ float of(float x, float)
	{
		return x * x;
	}
};

MAP_KERNELS(square, square)
