/* SPDX-License-Identifier: MIT */
/*
 * gemm/mm by cblas_sgemm. OpenBLAS is opened in load, so that listing the plugin
 * costs nothing. The host has checked the call against the family.
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
};

/* Copied, since C has no cast from a data pointer to a function; POSIX allows it. */
static int find(void *handle, const char *name, void *function)
{
	void *symbol = dlsym(handle, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static void set_threads(const struct library *library, const struct config *config)
{
	void (*set)(int threads);

	if (config && config->threads &&
		find(library->handle, "openblas_set_num_threads", &set))
		set(config->threads);
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

static int run(const struct kp_call *call)
{
	const struct kp_tensor *a = call->tensors[A], *b = call->tensors[B],
			       *c = call->tensors[C];
	const struct library *library = call->device_state;
	int64_t m = c->shape[0], n = c->shape[1], k = a->shape[1];
	struct layout la, lb, lc;

	if (!library)
		return failure(call->error, KP_INVALID, "load was not called");
	if (m == 0 || n == 0)
		return KP_OK;
	if (k == 0) {
		zero(c);
		return KP_OK;
	}
	if (m > INT_MAX || n > INT_MAX || k > INT_MAX)
		return failure(
			call->error, KP_UNSUPPORTED, "an extent is above %d", INT_MAX);
	if (!lay_out(a, &la) || !lay_out(b, &lb) || !lay_out(c, &lc))
		return failure(call->error, KP_UNSUPPORTED,
			"a matrix has neither contiguous rows nor contiguous columns");
	library->multiply(lc.by_rows ? ROW_MAJOR : COLUMN_MAJOR,
		la.by_rows == lc.by_rows ? NO_TRANSPOSE : TRANSPOSE,
		lb.by_rows == lc.by_rows ? NO_TRANSPOSE : TRANSPOSE, (int)m, (int)n,
		(int)k, 1, a->data, la.step, b->data, lb.step, 0, c->data, lc.step);
	return KP_OK;
}

const struct kp_kernel gemm_mm = {
	KP_SIZED(struct kp_kernel), .run = run, .load = load, .unload = unload};
