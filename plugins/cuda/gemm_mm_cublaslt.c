/* SPDX-License-Identifier: MIT */
/*
 * gemm/mm by cuBLASLt. What it wants to know beforehand, descriptors and the choice of
 * an algorithm, is made by `plan` in the host's memory; `run` only enqueues.
 *
 * cuBLASLt counts matrices by columns. A c with contiguous rows is therefore made as
 * its transpose, b' a', where a matrix with contiguous rows is its transpose, too.
 */
#include <stdlib.h>
#include <string.h>

#include "cublaslt.h"
#include "failure.h"
#include "kernels.h"
#include "matrix.h"
#include "module.h"

/* What NVIDIA recommends for Hopper. */
enum { WORKSPACE = 32 << 20, WORKSPACE_ALIGN = 256, ALIGN_MOST = 256 };

struct device {
	struct module *module; /* for the driver alone: it has no code of its own */
	struct cublaslt library;
};

/* Filled by plan; belongs to a kernel, a generation, a shape and a layout. */
struct plan {
	const struct kp_kernel *kernel;
	uint64_t generation;
	struct gemm_parameters product; /* without data */
	bool bf16;
	unsigned align[3]; /* of a, b, c: what the algorithm relies on */
	struct cublaslt_operation operation;
	struct cublaslt_layout first, second, c;
	struct cublaslt_algorithm algorithm;
	uint64_t workspace;
};

/* One matrix by columns: is what is given its transpose? */
struct view {
	bool by_rows;
	int64_t line;
};

static void free_device(struct device *device)
{
	if (!device)
		return;
	cublaslt_close(&device->library);
	module_free(device->module);
	free(device);
}

static void unload(void *state, void *device_state)
{
	(void)state;
	free_device(device_state);
}

static int load(void *state, const struct kp_device *place, void **device_state,
	struct kp_error *error)
{
	struct device *device = calloc(1, sizeof(*device));
	int status;

	(void)place;
	if (!device)
		return failure(error, KP_NO_MEMORY, 0, "no memory for a device");
	status = module_load(NULL, &device->module, error);
	if (status == KP_OK)
		status = cublaslt_open(&device->library, state, error);
	if (status != KP_OK) {
		free_device(device);
		return status;
	}
	*device_state = device;
	return KP_OK;
}

static int available(const struct kp_device *device, struct kp_error *error)
{
	int status = module_available(device, error);

	return status == KP_OK ? cublaslt_find(error) : status;
}

static int need(const struct kp_call *call, struct kp_need *need)
{
	(void)call;
	need->workspace_bytes = WORKSPACE;
	need->workspace_align = WORKSPACE_ALIGN;
	need->host_plan_bytes = sizeof(struct plan);
	need->host_plan_align = _Alignof(struct plan);
	return KP_OK;
}

static bool look(
	int64_t row, int64_t column, int64_t rows, int64_t columns, struct view *view)
{
	view->line = matrix_line(column, row, columns, rows);
	view->by_rows = view->line > 0;
	if (!view->by_rows)
		view->line = matrix_line(row, column, rows, columns);
	return view->line > 0;
}

static unsigned alignment(const void *data)
{
	unsigned align = ALIGN_MOST;

	while ((uintptr_t)data % align)
		align /= 2;
	return align;
}

/* A matrix of `rows` by `columns`, as cuBLASLt sees it. */
static cublaslt_result lay_out(const struct cublaslt *library,
	struct cublaslt_layout *layout, const struct plan *plan, const struct view *view,
	int64_t rows, int64_t columns)
{
	return library->layout_init(layout, sizeof(*layout),
		plan->bf16 ? CUBLASLT_BF16 : CUBLASLT_F32,
		(uint64_t)(view->by_rows ? columns : rows),
		(uint64_t)(view->by_rows ? rows : columns), view->line);
}

static cublaslt_result describe(const struct cublaslt *library, struct plan *plan,
	const struct view *a, const struct view *b, const struct view *c)
{
	const struct gemm_parameters *p = &plan->product;
	/* A factor that lies like c is as it should be; another is transposed. */
	int32_t turn_a = a->by_rows != c->by_rows, turn_b = b->by_rows != c->by_rows;
	int32_t first = c->by_rows ? turn_b : turn_a,
		second = c->by_rows ? turn_a : turn_b;
	struct cublaslt_layout *of_a = c->by_rows ? &plan->second : &plan->first;
	struct cublaslt_layout *of_b = c->by_rows ? &plan->first : &plan->second;
	cublaslt_result result = lay_out(library, of_a, plan, a, p->m, p->k);

	if (result == CUBLASLT_OK)
		result = lay_out(library, of_b, plan, b, p->k, p->n);
	if (result == CUBLASLT_OK)
		result = lay_out(library, &plan->c, plan, c, p->m, p->n);
	if (result == CUBLASLT_OK)
		result = library->operation_init(&plan->operation,
			sizeof(plan->operation), CUBLASLT_COMPUTE_F32, CUBLASLT_F32);
	if (result == CUBLASLT_OK)
		result = library->operation_set(
			&plan->operation, CUBLASLT_TRANSPOSE_A, &first, sizeof(first));
	if (result == CUBLASLT_OK)
		result = library->operation_set(
			&plan->operation, CUBLASLT_TRANSPOSE_B, &second, sizeof(second));
	return result;
}

static cublaslt_result prefer(const struct cublaslt *library, const struct plan *plan,
	bool by_rows, struct cublaslt_preference *preference)
{
	uint64_t workspace = WORKSPACE;
	uint32_t align[] = {plan->align[by_rows ? 1 : 0], plan->align[by_rows ? 0 : 1],
		plan->align[2], plan->align[2]};
	cublaslt_result result =
		library->preference_init(preference, sizeof(*preference));

	if (result == CUBLASLT_OK)
		result = library->preference_set(preference, CUBLASLT_MOST_WORKSPACE,
			&workspace, sizeof(workspace));
	for (int i = 0; result == CUBLASLT_OK && i < 4; i++)
		result = library->preference_set(preference, CUBLASLT_ALIGNMENT_A + i,
			&align[i], sizeof(align[i]));
	return result;
}

static int choose(const struct cublaslt *library, struct plan *plan, bool by_rows,
	struct kp_error *error)
{
	struct cublaslt_preference preference;
	struct cublaslt_choice choice;
	int found = 0;
	cublaslt_result result = prefer(library, plan, by_rows, &preference);

	memset(&choice, 0, sizeof(choice));
	if (result == CUBLASLT_OK)
		result = library->choose(library->handle, &plan->operation, &plan->first,
			&plan->second, &plan->c, &plan->c, &preference, 1, &choice,
			&found);
	if (result != CUBLASLT_OK)
		return cublaslt_failure(
			library, result, error, "cublasLtMatmulAlgoGetHeuristic");
	if (found == 0)
		return failure(error, KP_UNSUPPORTED, 0,
			"cuBLASLt has no algorithm for this product");
	plan->algorithm = choice.algorithm;
	plan->workspace = choice.workspace;
	return KP_OK;
}

static struct gemm_parameters without_data(struct gemm_parameters product)
{
	product.a = product.b = NULL;
	product.c = NULL;
	return product;
}

static int check_memory(const struct kp_call *call)
{
	if (!call->device_state)
		return failure(call->error, KP_INVALID, 0, "load was not called");
	if (!call->host_plan || call->host_plan_bytes < sizeof(struct plan))
		return failure(call->error, KP_INVALID, 0,
			"the plan in host memory has %llu bytes, not %zu",
			(unsigned long long)call->host_plan_bytes, sizeof(struct plan));
	return KP_OK;
}

static int plan(const struct kp_call *call)
{
	const struct device *device = call->device_state;
	struct gemm_parameters p;
	struct plan *plan = call->host_plan;
	struct view a, b, c;
	bool bf16 = false;
	int status = check_memory(call);

	if (status == KP_OK)
		status = matrix_take(call, &p, &bf16);
	if (status != KP_OK)
		return status;
	memset(plan, 0, sizeof(*plan));
	plan->kernel = &gemm_mm_cublaslt;
	plan->generation = call->generation;
	plan->product = without_data(p);
	plan->bf16 = bf16;
	plan->align[0] = alignment(p.a);
	plan->align[1] = alignment(p.b);
	plan->align[2] = alignment(p.c);
	if (!look(p.a_row, p.a_column, p.m, p.k, &a) ||
		!look(p.b_row, p.b_column, p.k, p.n, &b) ||
		!look(p.c_row, p.c_column, p.m, p.n, &c))
		return failure(call->error, KP_UNSUPPORTED, 0,
			"a matrix has neither contiguous rows nor contiguous columns");
	if (p.m == 0 || p.n == 0 || p.k == 0)
		return KP_OK;
	cublaslt_result result = describe(&device->library, plan, &a, &b, &c);

	if (result != CUBLASLT_OK)
		return cublaslt_failure(
			&device->library, result, call->error, "describing the matrices");
	return choose(&device->library, plan, c.by_rows, call->error);
}

static int check_plan(
	const struct kp_call *call, const struct gemm_parameters *p, bool bf16)
{
	const struct plan *plan = call->host_plan;
	struct gemm_parameters bare = without_data(*p);

	if (plan->kernel != &gemm_mm_cublaslt || plan->generation != call->generation)
		return failure(call->error, KP_STALE, 0,
			"the plan is not of this kernel and generation");
	if (memcmp(&plan->product, &bare, sizeof(bare)) != 0 || plan->bf16 != bf16)
		return failure(call->error, KP_STALE, 0,
			"the plan is for other extents, strides or types");
	if (alignment(p->a) < plan->align[0] || alignment(p->b) < plan->align[1] ||
		alignment(p->c) < plan->align[2])
		return failure(call->error, KP_STALE, 0,
			"the plan is for data that is aligned to more bytes");
	if (call->workspace_bytes < plan->workspace)
		return failure(call->error, KP_INVALID, 0,
			"the workspace has %llu bytes, not %llu",
			(unsigned long long)call->workspace_bytes,
			(unsigned long long)plan->workspace);
	return KP_OK;
}

/* With k = 0 there is no product: c, line by line, is 0. */
static int clear(const struct kp_call *call, const struct gemm_parameters *p, bool bf16)
{
	const struct device *device = call->device_state;
	const struct driver *driver = &device->module->driver;
	size_t size = bf16 ? 2 : 4;
	struct view c;

	if (!look(p->c_row, p->c_column, p->m, p->n, &c))
		return failure(call->error, KP_UNSUPPORTED, 0,
			"c has neither contiguous rows nor contiguous columns");
	cuda_result result = driver->clear((uintptr_t)p->c, (size_t)c.line * size, 0,
		(size_t)(c.by_rows ? p->n : p->m) * size,
		(size_t)(c.by_rows ? p->m : p->n), call->stream);

	return result == CUDA_OK
		       ? KP_OK
		       : driver_failure(driver, result, call->error, "cuMemsetD2D8Async");
}

static int run(const struct kp_call *call)
{
	static const float one = 1, zero = 0;
	struct device *device = call->device_state;
	struct plan *plan = call->host_plan;
	struct gemm_parameters p = {0};
	bool bf16 = false;
	struct view c = {false, 0};
	int status = check_memory(call);

	if (status == KP_OK)
		status = matrix_take(call, &p, &bf16);
	if (status == KP_OK)
		status = check_plan(call, &p, bf16);
	if (status != KP_OK || p.m == 0 || p.n == 0)
		return status;
	if (p.k == 0)
		return clear(call, &p, bf16);
	(void)look(p.c_row, p.c_column, p.m, p.n, &c);
	cublaslt_result result = device->library.multiply(device->library.handle,
		&plan->operation, &one, c.by_rows ? p.b : p.a, &plan->first,
		c.by_rows ? p.a : p.b, &plan->second, &zero, p.c, &plan->c, p.c, &plan->c,
		&plan->algorithm, call->workspace, call->workspace_bytes, call->stream);

	return result == CUBLASLT_OK ? KP_OK
				     : cublaslt_failure(&device->library, result,
					       call->error, "cublasLtMatmul");
}

const struct kp_kernel gemm_mm_cublaslt = {KP_SIZED(struct kp_kernel), .run = run,
	.available = available, .load = load, .unload = unload, .need = need,
	.plan = plan};
