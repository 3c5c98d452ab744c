/* SPDX-License-Identifier: MIT */
/* gemm/mm of bf16 by matrix instructions, on the host. */
#include "failure.h"
#include "kernels.h"
#include "matrix.h"
#include "module.h"

enum { LARGE_EDGE = 128, SMALL_EDGE = 64, LARGE_THREADS = 256, SMALL_THREADS = 128 };
enum { LARGE = 0, SMALL = 4, FUNCTIONS = 8 };
enum { PIECE = 8 }; /* elements in 16 bytes */

/* a along k (t) or across it (n), b likewise: n is the bit of each that is not set. */
enum { B_ALONG = 1, A_ALONG = 2 };

#define LARGE_SHARED CUDA_MMA_SHARED(LARGE_EDGE)
#define SMALL_SHARED CUDA_MMA_SHARED(SMALL_EDGE)

static const struct module_source source = {gemm_mm_mma_image, FUNCTIONS,
	{{"gemm_mma_128_nn", LARGE_SHARED}, {"gemm_mma_128_nt", LARGE_SHARED},
		{"gemm_mma_128_tn", LARGE_SHARED}, {"gemm_mma_128_tt", LARGE_SHARED},
		{"gemm_mma_64_nn", SMALL_SHARED}, {"gemm_mma_64_nt", SMALL_SHARED},
		{"gemm_mma_64_tn", SMALL_SHARED}, {"gemm_mma_64_tt", SMALL_SHARED}}};

static int load(void *state, const struct kp_device *device, void **device_state,
	struct kp_error *error)
{
	(void)state;
	(void)device;
	return module_load(&source, (struct module **)device_state, error);
}

static bool fits(const void *data, int64_t line)
{
	return line > 0 && line % PIECE == 0 && (uintptr_t)data % 16 == 0;
}

/*
 * Does the operand lie along k, its lines starting at 16 bytes? Or across it? A single
 * line may have any step: it is given one that fits.
 */
static bool lay_out(const void *data, int64_t *k_step, int64_t *step, int64_t k,
	int64_t lines, bool *along)
{
	int64_t line = matrix_line(*k_step, *step, k, lines);

	if (lines <= 1 && line > 0)
		line = (line + PIECE - 1) / PIECE * PIECE;
	*along = fits(data, line);
	if (*along) {
		*step = line;
		return true;
	}
	line = matrix_line(*step, *k_step, lines, k);
	if (k <= 1 && line > 0)
		line = (line + PIECE - 1) / PIECE * PIECE;
	*k_step = line;
	return fits(data, line);
}

static int run(const struct kp_call *call)
{
	const struct module *module = module_of(call);
	struct gemm_parameters p;
	bool bf16 = false, a_along = false, b_along = false;
	int status;

	if (!module)
		return KP_INVALID;
	status = matrix_take(call, &p, &bf16);
	if (status != KP_OK || p.m == 0 || p.n == 0)
		return status;
	if (!bf16)
		return failure(
			call->error, KP_UNSUPPORTED, 0, "a: only bf16 is supported");
	if (!lay_out(p.a, &p.a_column, &p.a_row, p.k, p.m, &a_along))
		return failure(call->error, KP_UNSUPPORTED, 0,
			"a: neither rows nor columns are contiguous and start at 16 "
			"bytes");
	if (!lay_out(p.b, &p.b_row, &p.b_column, p.k, p.n, &b_along))
		return failure(call->error, KP_UNSUPPORTED, 0,
			"b: neither rows nor columns are contiguous and start at 16 "
			"bytes");
	bool large = matrix_tiles(&p, LARGE_EDGE) >= module->processors;
	struct launch launch = {(large ? LARGE : SMALL) + (a_along ? A_ALONG : 0) +
					(b_along ? B_ALONG : 0),
		matrix_tiles(&p, large ? LARGE_EDGE : SMALL_EDGE), 1,
		large ? LARGE_THREADS : SMALL_THREADS,
		large ? LARGE_SHARED : SMALL_SHARED};

	return module_launch(module, call, &launch, &p);
}

const struct kp_kernel gemm_mm_mma = {KP_SIZED(struct kp_kernel), .run = run,
	.available = module_available, .load = load, .unload = module_unload};
