/* SPDX-License-Identifier: MIT */
/* gemm/mm with ordinary instructions, on the host: any strides, f32 and bf16. */
#include "kernels.h"
#include "matrix.h"
#include "module.h"

/* Each for f32, then for bf16. */
enum { LARGE = 0, SMALL = 2, FUNCTIONS = 4 };
enum { LARGE_EDGE = 128, SMALL_EDGE = 64 };

static const struct module_source source = {gemm_mm_tiled_image, FUNCTIONS,
	{{"gemm_tiled_128_f32", CUDA_TILED_SHARED(LARGE_EDGE)},
		{"gemm_tiled_128_bf16", CUDA_TILED_SHARED(LARGE_EDGE)},
		{"gemm_tiled_64_f32", CUDA_TILED_SHARED(SMALL_EDGE)},
		{"gemm_tiled_64_bf16", CUDA_TILED_SHARED(SMALL_EDGE)}}};

static int load(void *state, const struct kp_device *device, void **device_state,
	struct kp_error *error)
{
	(void)state;
	(void)device;
	return module_load(&source, (struct module **)device_state, error);
}

static int run(const struct kp_call *call)
{
	const struct module *module = module_of(call);
	struct gemm_parameters p;
	bool bf16 = false;
	int status;

	if (!module)
		return KP_INVALID;
	status = matrix_take(call, &p, &bf16);
	if (status != KP_OK || p.m == 0 || p.n == 0)
		return status;
	/* Large tiles read less, but each processor wants one. */
	bool large = matrix_tiles(&p, LARGE_EDGE) >= module->processors;
	struct launch launch = {(large ? LARGE : SMALL) + bf16,
		matrix_tiles(&p, large ? LARGE_EDGE : SMALL_EDGE), 1, CUDA_TILED_THREADS,
		large ? CUDA_TILED_SHARED(LARGE_EDGE) : CUDA_TILED_SHARED(SMALL_EDGE)};

	return module_launch(module, call, &launch, &p);
}

const struct kp_kernel gemm_mm_tiled = {KP_SIZED(struct kp_kernel), .run = run,
	.available = module_available, .load = load, .unload = module_unload};
