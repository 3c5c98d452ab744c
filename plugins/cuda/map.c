/* SPDX-License-Identifier: MIT */
/* Chooses how the elements of a map are read, and its grid. */
#include "map.h"

#include "parameters.h"

enum { VECTOR = 16, ROWS_MOST = 65535, BLOCKS_MOST = 1 << 20 };

/* Steps of a tensor as if it had rank 2. */
static void take_steps(const struct kp_tensor *tensor, int64_t *row, int64_t *step)
{
	*row = tensor->ndim == 2 ? operand_step(tensor, 0) : 0;
	*step = operand_step(tensor, tensor->ndim - 1);
}

/* Does one row follow the other? Then all of them are one. */
static bool is_dense(const struct map_parameters *p)
{
	return p->a_row == p->n && p->out_row == p->n && (!p->b || p->b_row == p->n);
}

static int64_t divide(int64_t value, int64_t by)
{
	return value / by + (value % by != 0);
}

static void fill(struct map_parameters *p, const struct kp_tensor *a,
	const struct kp_tensor *b, const struct kp_tensor *out)
{
	p->a = a->data;
	p->b = b ? b->data : NULL;
	p->out = out->data;
	p->rows = a->ndim == 2 ? a->shape[0] : 1;
	p->n = a->shape[a->ndim - 1];
	take_steps(a, &p->a_row, &p->a_step);
	if (b)
		take_steps(b, &p->b_row, &p->b_step);
	take_steps(out, &p->out_row, &p->out_step);
}

int map_run(const struct kp_call *call, const struct kp_tensor *a,
	const struct kp_tensor *b, const struct kp_tensor *out, bool bf16)
{
	const struct module *module = module_of(call);
	struct map_parameters p = {0};
	int64_t piece =
		(int64_t)CUDA_MAP_THREADS * CUDA_MAP_UNROLL * (VECTOR / (bf16 ? 2 : 4));
	struct launch launch = {
		bf16 ? MAP_ELEMENTS_BF16 : MAP_ELEMENTS_F32, 0, 1, CUDA_MAP_THREADS, 0};

	if (!module)
		return KP_INVALID;
	fill(&p, a, b, out);
	if (p.rows == 0 || p.n == 0)
		return KP_OK;
	if (operand_fits(a, VECTOR) && operand_fits(b, VECTOR) &&
		operand_fits(out, VECTOR)) {
		if (is_dense(&p)) {
			p.n *= p.rows;
			p.rows = 1;
		}
		launch.function = bf16 ? MAP_VECTORS_BF16 : MAP_VECTORS_F32;
		launch.blocks = divide(p.n, piece);
		launch.rows = p.rows < ROWS_MOST ? p.rows : ROWS_MOST;
	} else {
		launch.blocks = divide(p.rows * p.n, CUDA_MAP_THREADS);
		if (launch.blocks > BLOCKS_MOST)
			launch.blocks = BLOCKS_MOST;
	}
	return module_launch(module, call, &launch, &p);
}
