/* SPDX-License-Identifier: MIT */
/* Chooses who reads a row, a warp or a block, and how. */
#include "rows.h"

#include "parameters.h"

enum { VECTOR = 16, WARP = 32, BLOCKS_MOST = 0x7fffffff };

/* Few rows are read by blocks, long before a warp could not hold one. */
enum { WARP_EASY = WARP * 2, WARPS_OF_PROCESSOR = 16 };

static void fill(struct row_parameters *p, const struct kp_tensor *x,
	const struct kp_tensor *weight, const struct kp_tensor *y, double eps)
{
	p->x = x->data;
	p->weight = weight ? weight->data : NULL;
	p->y = y->data;
	p->rows = x->shape[0];
	p->n = x->shape[1];
	p->x_row = operand_step(x, 0);
	p->x_step = operand_step(x, 1);
	p->y_row = operand_step(y, 0);
	p->y_step = operand_step(y, 1);
	p->weight_step = weight ? operand_step(weight, 0) : 0;
	p->eps = eps;
}

/* Whole warps, so that each thread has about `kept` of `items`. */
static unsigned threads_for(int64_t items, int64_t kept)
{
	int64_t threads = (items / kept + WARP) / WARP * WARP;

	return (unsigned)(threads < CUDA_ROW_MOST ? threads : CUDA_ROW_MOST);
}

static bool suits_warp(const struct module *module, int64_t rows, int64_t vectors)
{
	if (vectors <= WARP_EASY)
		return true;
	return vectors <= (int64_t)WARP * CUDA_WARP_KEPT &&
	       rows >= (int64_t)module->processors * WARPS_OF_PROCESSOR;
}

int rows_run(const struct kp_call *call, const struct kp_tensor *x,
	const struct kp_tensor *weight, const struct kp_tensor *y, bool bf16, double eps)
{
	const struct module *module = module_of(call);
	struct row_parameters p = {0};
	struct launch launch = {.rows = 1, .shared_bytes = CUDA_ROW_SHARED};

	if (!module)
		return KP_INVALID;
	fill(&p, x, weight, y, eps);
	if (p.rows == 0 || p.n == 0)
		return KP_OK;
	int64_t vectors = p.n / (VECTOR / (bf16 ? 2 : 4));

	launch.blocks = p.rows;
	if (!operand_fits(x, VECTOR) || !operand_fits(weight, VECTOR) ||
		!operand_fits(y, VECTOR)) {
		launch.function = ROWS_ELEMENTS + bf16;
		launch.threads = threads_for(p.n, CUDA_ROW_KEPT);
	} else if (suits_warp(module, p.rows, vectors)) {
		launch.function = ROWS_WARP + bf16;
		launch.threads = CUDA_WARP_THREADS;
		launch.blocks = (p.rows - 1) / (CUDA_WARP_THREADS / WARP) + 1;
		launch.shared_bytes = 0;
	} else {
		launch.function = ROWS_BLOCK + bf16;
		launch.threads = threads_for(vectors, CUDA_ROW_KEPT);
	}
	if (launch.blocks > BLOCKS_MOST)
		launch.blocks = BLOCKS_MOST;
	return module_launch(module, call, &launch, &p);
}
