/* SPDX-License-Identifier: MIT */
/*
 * gemm/mm with AVX2 and with AVX-512. The host has checked the call against the
 * family; f32 and bf16 may be mixed as the note says.
 */
#include "kernels.h"
#include "processor.h"
#include "product.h"

enum { A, B, C };

#if defined(__x86_64__)

static struct matrix view(const struct kp_tensor *tensor)
{
	struct matrix matrix = {tensor->data, tensor->strides[0], tensor->strides[1],
		tensor->dtype.code == KP_CODE_BFLOAT};

	return matrix;
}

static struct product product_of(const struct kp_call *call, const struct tile *tile)
{
	struct product product = {.tile = tile,
		.a = view(call->tensors[A]),
		.b = view(call->tensors[B]),
		.c = view(call->tensors[C]),
		.m = call->tensors[C]->shape[0],
		.n = call->tensors[C]->shape[1],
		.k = call->tensors[A]->shape[1]};

	return product;
}

static int need_for(
	const struct kp_call *call, struct kp_need *need, const struct tile *tile)
{
	struct product product = product_of(call, tile);

	need->workspace_bytes = product_workspace(&product);
	need->workspace_align = PRODUCT_ALIGN;
	return KP_OK;
}

/* The transposed of C is the product of the transposed. */
static struct product transposed(const struct product *product)
{
	struct product other = *product;

	other.a = matrix_transposed(product->b);
	other.b = matrix_transposed(product->a);
	other.c = matrix_transposed(product->c);
	other.m = product->n;
	other.n = product->m;
	return other;
}

static void zero(const struct product *product)
{
	static const float nothing;

	for (int64_t i = 0; i < product->m; i++)
		for (int64_t j = 0; j < product->n; j++)
			matrix_store(&nothing, 0, matrix_part(product->c, i, j), 1, 1, 0);
}

static int run_with(const struct kp_call *call, const struct tile *tile)
{
	struct product product = product_of(call, tile);

	if (call->workspace_bytes < product_workspace(&product))
		return processor_fail(
			call->error, KP_INVALID, "the workspace is too small");
	if (product.k == 0)
		zero(&product);
	if (product.k == 0 || product.m == 0 || product.n == 0)
		return KP_OK;
	if (product.m > 1 && product.n == 1)
		product = transposed(&product);
	if (product.m == 1)
		return product_of_row(&product, call->host);
	return product_by_blocks(&product, call->host, call->workspace);
}

static int need_avx2(const struct kp_call *call, struct kp_need *need)
{
	return need_for(call, need, &tile_avx2);
}

static int need_avx512(const struct kp_call *call, struct kp_need *need)
{
	return need_for(call, need, &tile_avx512);
}

static int run_avx2(const struct kp_call *call)
{
	return run_with(call, &tile_avx2);
}

static int run_avx512(const struct kp_call *call)
{
	return run_with(call, &tile_avx512);
}

const struct kp_kernel gemm_mm = {KP_SIZED(struct kp_kernel), .run = run_avx2,
	.available = processor_available, .need = need_avx2};
const struct kp_kernel gemm_mm_avx512 = {KP_SIZED(struct kp_kernel), .run = run_avx512,
	.available = processor_available_avx512, .need = need_avx512};

#else

static int run(const struct kp_call *call)
{
	return processor_available(NULL, call->error);
}

const struct kp_kernel gemm_mm = {
	KP_SIZED(struct kp_kernel), .run = run, .available = processor_available};
const struct kp_kernel gemm_mm_avx512 = {
	KP_SIZED(struct kp_kernel), .run = run, .available = processor_available_avx512};

#endif
