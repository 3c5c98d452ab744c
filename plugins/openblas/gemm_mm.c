/* SPDX-License-Identifier: MIT */
/*
 * gemm/mm by cblas_sgemm. OpenBLAS is opened in load, so that listing the plugin
 * costs nothing. With "threads" in the config it brings its own; without, it runs on
 * one, and large products are shared on the host's. The host has checked the call
 * against the family.
 */
#include "gemm_mm.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "failure.h"

enum { A, B, C };

/* The numbers of the CBLAS interface. */
enum { ROW_MAJOR = 101, COLUMN_MAJOR = 102, NO_TRANSPOSE = 111, TRANSPOSE = 112 };

typedef void sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k,
	float alpha, const float *a, int lda, const float *b, int ldb, float beta,
	float *c, int ldc);

struct library {
	void *handle;
	sgemm *multiply;
	int shares; /* products, on the host's threads */
};

/* Copied, since C has no cast from a data pointer to a function; POSIX allows it. */
static int find(void *handle, const char *name, void *function)
{
	void *symbol = dlsym(handle, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static void set_threads(struct library *library, const struct config *config)
{
	int own = config && config->threads;
	void (*set)(int threads);

	library->shares = !own;
	if (find(library->handle, "openblas_set_num_threads", &set))
		set(own ? config->threads : 1);
}

static void unload(void *state, void *device_state)
{
	struct library *library = device_state;

	(void)state;
	if (library && library->handle)
		dlclose(library->handle);
	free(library);
}

static int load(void *state, const struct kp_device *device, void **device_state,
	struct kp_error *error)
{
	struct library *library = calloc(1, sizeof(*library));
	int status = KP_OK;

	(void)device;
	if (!library)
		return failure(error, KP_NO_MEMORY, "no memory for the library's handle");
	library->handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!library->handle)
		status =
			failure(error, KP_UNAVAILABLE, "libopenblas.so.0: %s", dlerror());
	else if (!find(library->handle, "cblas_sgemm", &library->multiply))
		status = failure(error, KP_UNAVAILABLE,
			"libopenblas.so.0 has no function cblas_sgemm");
	if (status != KP_OK) {
		unload(state, library);
		return status;
	}
	set_threads(library, state);
	*device_state = library;
	return KP_OK;
}

/* A matrix as CBLAS wants it: which of its steps is 1, and the other one. */
struct layout {
	int by_rows;
	int step;
};

/*
 * The step of a dim with one element, or none, means nothing; any step that is
 * not below the length of a line does.
 */
static int fits(int64_t unit, int64_t step, int64_t length, int64_t lines, int *out)
{
	int64_t least = length > 1 ? length : 1;

	if (lines <= 1)
		step = least;
	if ((length > 1 && unit != 1) || step < least || step > INT_MAX)
		return 0;
	*out = (int)step;
	return 1;
}

static int lay_out(const struct kp_tensor *tensor, struct layout *layout)
{
	const int64_t *shape = tensor->shape, *strides = tensor->strides;

	layout->by_rows = fits(strides[1], strides[0], shape[1], shape[0], &layout->step);
	return layout->by_rows ||
	       fits(strides[0], strides[1], shape[0], shape[1], &layout->step);
}

static void zero(const struct kp_tensor *c)
{
	for (int64_t i = 0; i < c->shape[0]; i++)
		for (int64_t j = 0; j < c->shape[1]; j++)
			((float *)c->data)[i * c->strides[0] + j * c->strides[1]] = 0;
}

/* A product as CBLAS wants it, in parts of `rows` x `columns` of C. */
struct product {
	const struct library *library;
	const struct kp_tensor *a, *b, *c;
	struct layout la, lb, lc;
	int64_t m, n, k, rows, columns;
};

static const void *element(const struct kp_tensor *tensor, int64_t i, int64_t j)
{
	const float *data = tensor->data;

	return data + i * tensor->strides[0] + j * tensor->strides[1];
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int multiply_part(void *arg, uint64_t part)
{
	const struct product *p = arg;
	int64_t across = (p->n + p->columns - 1) / p->columns;
	int64_t i = (int64_t)part / across * p->rows;
	int64_t j = (int64_t)part % across * p->columns;

	p->library->multiply(p->lc.by_rows ? ROW_MAJOR : COLUMN_MAJOR,
		p->la.by_rows == p->lc.by_rows ? NO_TRANSPOSE : TRANSPOSE,
		p->lb.by_rows == p->lc.by_rows ? NO_TRANSPOSE : TRANSPOSE,
		(int)least(p->m - i, p->rows), (int)least(p->n - j, p->columns),
		(int)p->k, 1, element(p->a, i, 0), p->la.step, element(p->b, 0, j),
		p->lb.step, 0, (float *)(uintptr_t)element(p->c, i, j), p->lc.step);
	return KP_OK;
}

/*
 * Products from this many multiplications on, where the time to wake a thread is
 * little. A part packs its rows of A and columns of B for itself: it must not be thin.
 */
static const double worth_sharing = 4e6;
enum { PARTS = 8, PART_LEAST = 256 };

static int64_t part_of(int64_t extent)
{
	int64_t part = (extent + PARTS - 1) / PARTS;

	return part < PART_LEAST ? PART_LEAST : part;
}

static int share(const struct kp_call *call, struct product *p)
{
	const struct kp_host *host = call->host;
	int64_t parts;

	if (!p->library->shares || !host || !KP_COVERS(host, parallel_for) ||
		!host->parallel_for ||
		(double)p->m * (double)p->n * (double)p->k < worth_sharing)
		return multiply_part(p, 0);
	if (p->m > p->n)
		p->rows = part_of(p->m);
	else
		p->columns = part_of(p->n);
	parts = (p->m + p->rows - 1) / p->rows * ((p->n + p->columns - 1) / p->columns);
	return host->parallel_for(host->context, (uint64_t)parts, multiply_part, p);
}

/* Every case but the plain one. */
static __attribute__((noinline)) int run_any(
	const struct kp_call *call, const struct library *library)
{
	struct product p = {.library = library,
		.a = call->tensors[A],
		.b = call->tensors[B],
		.c = call->tensors[C]};

	p.m = p.rows = p.c->shape[0];
	p.n = p.columns = p.c->shape[1];
	p.k = p.a->shape[1];
	if (!library)
		return failure(call->error, KP_INVALID, "load was not called");
	if (p.m == 0 || p.n == 0)
		return KP_OK;
	if (p.k == 0) {
		zero(p.c);
		return KP_OK;
	}
	if (p.m > INT_MAX || p.n > INT_MAX || p.k > INT_MAX)
		return failure(
			call->error, KP_UNSUPPORTED, "an extent is above %d", INT_MAX);
	if (!lay_out(p.a, &p.la) || !lay_out(p.b, &p.lb) || !lay_out(p.c, &p.lc))
		return failure(call->error, KP_UNSUPPORTED,
			"a matrix has neither contiguous rows nor contiguous columns");
	return share(call, &p);
}

/* Extents up to here are plain: such products are not shared. */
enum { PLAIN_MOST = 127 };

/*
 * The common case of a small product, which takes tens of nanoseconds, decided in a
 * few instructions: contiguous elements in the rows of all three, nothing empty. What
 * is not plain may still be right.
 */
static int is_plain(
	const struct kp_tensor *a, const struct kp_tensor *b, const struct kp_tensor *c)
{
	int64_t m = c->shape[0], n = c->shape[1], k = a->shape[1];
	int64_t sa = a->strides[0], sb = b->strides[0], sc = c->strides[0];
	int64_t units = (a->strides[1] ^ 1) | (b->strides[1] ^ 1) | (c->strides[1] ^ 1);
	int64_t extents = (m - 1) | (n - 1) | (k - 1);
	int64_t steps = sa | sb | sc | (sa - k) | (sb - n) | (sc - n);

	/* What is below 0 or beyond the range has a bit up there. */
	return (units | (extents & ~(int64_t)PLAIN_MOST) | (steps & ~(int64_t)INT_MAX)) ==
	       0;
}

static int run(const struct kp_call *call)
{
	const struct kp_tensor *a = call->tensors[A], *b = call->tensors[B],
			       *c = call->tensors[C];
	const struct library *library = call->device_state;

	if (!library || !is_plain(a, b, c))
		return run_any(call, library);
	library->multiply(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, (int)c->shape[0],
		(int)c->shape[1], (int)a->shape[1], 1, a->data, (int)a->strides[0],
		b->data, (int)b->strides[0], 0, c->data, (int)c->strides[0]);
	return KP_OK;
}

const struct kp_kernel gemm_mm = {
	KP_SIZED(struct kp_kernel), .run = run, .load = load, .unload = unload};
