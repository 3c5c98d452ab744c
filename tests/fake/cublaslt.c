/* SPDX-License-Identifier: MIT */
/*
 * A cuBLASLt for tests: the functions that the cuda plugin calls, over the fake driver.
 * It refuses what the real one would, as far as a caller could get it wrong.
 * KP_FAKE_CUBLASLT_FAIL=FUNCTION:CODE makes a function fail.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/cuda/query.h"

enum { OK = 0, INVALID = 7, EXECUTION_FAILED = 13 };
enum { F32 = 0, BF16 = 14, COMPUTE_F32 = 68, TRANSPOSE_A = 3, TRANSPOSE_B = 4 };
enum { MOST_WORKSPACE = 1, ALIGNMENT_A = 5, ALIGNMENT_D = 8, WORKSPACE = 4096 };

struct layout {
	uint64_t type, rows, columns;
	int64_t line;
	uint64_t rest[4];
};

struct operation {
	int32_t compute, scale, transpose[2];
	uint64_t rest[30];
};

struct preference {
	uint64_t workspace;
	uint32_t align[4];
	uint64_t rest[5];
};

struct algorithm {
	uint64_t mark;
	uint32_t align[4];
	uint64_t rest[5];
};

struct choice {
	struct algorithm algorithm;
	size_t workspace;
	int state;
	float waves;
	int reserved[4];
};

struct product {
	struct operation operation;
	struct layout a, b, d;
	const void *data_a, *data_b;
	void *data_d;
	float alpha;
};

_Static_assert(sizeof(struct layout) == 64 && sizeof(struct operation) == 256 &&
		       sizeof(struct preference) == 64 && sizeof(struct algorithm) == 64,
	"the sizes of cublasLt.h");

static const uint64_t mark = 0x6b706c7567;

static int failing(const char *function)
{
	const char *text = getenv("KP_FAKE_CUBLASLT_FAIL");
	size_t length = strlen(function);

	return text && strncmp(text, function, length) == 0 && text[length] == ':'
		       ? atoi(text + length + 1)
		       : OK;
}

const char *cublasLtGetStatusName(int status)
{
	return status == OK		    ? "CUBLAS_STATUS_SUCCESS"
	       : status == INVALID	    ? "CUBLAS_STATUS_INVALID_VALUE"
	       : status == EXECUTION_FAILED ? "CUBLAS_STATUS_EXECUTION_FAILED"
	       : status == 15		    ? "CUBLAS_STATUS_NOT_SUPPORTED"
	       : status == 3		    ? "CUBLAS_STATUS_ALLOC_FAILED"
	       : status == 1		    ? "CUBLAS_STATUS_NOT_INITIALIZED"
					    : "unknown";
}

int cublasLtCreate(void **handle)
{
	*handle = malloc(1);
	if (failing(__func__) != OK) {
		free(*handle);
		return failing(__func__);
	}
	return OK;
}

int cublasLtDestroy(void *handle)
{
	free(handle);
	return OK;
}

int cublasLtMatrixLayoutInit_internal(struct layout *layout, size_t size, int type,
	uint64_t rows, uint64_t columns, int64_t line)
{
	if (failing(__func__) != OK)
		return failing(__func__);
	if (size != sizeof(*layout) || (type != F32 && type != BF16) || rows == 0 ||
		columns == 0 || line < (int64_t)rows)
		return INVALID;
	*layout = (struct layout){(uint64_t)type, rows, columns, line, {0}};
	return OK;
}

int cublasLtMatmulDescInit_internal(
	struct operation *operation, size_t size, int compute, int scale)
{
	if (size != sizeof(*operation) || compute != COMPUTE_F32 || scale != F32)
		return INVALID;
	*operation = (struct operation){.compute = compute, .scale = scale};
	return failing(__func__);
}

int cublasLtMatmulDescSetAttribute(
	struct operation *operation, int attribute, const void *value, size_t size)
{
	if (size != sizeof(int32_t) || attribute < TRANSPOSE_A || attribute > TRANSPOSE_B)
		return INVALID;
	memcpy(&operation->transpose[attribute - TRANSPOSE_A], value, size);
	return failing(__func__);
}

int cublasLtMatmulPreferenceInit_internal(struct preference *preference, size_t size)
{
	if (size != sizeof(*preference))
		return INVALID;
	*preference = (struct preference){0, {256, 256, 256, 256}, {0}};
	return failing(__func__);
}

int cublasLtMatmulPreferenceSetAttribute(
	struct preference *preference, int attribute, const void *value, size_t size)
{
	if (attribute == MOST_WORKSPACE && size == sizeof(uint64_t))
		memcpy(&preference->workspace, value, size);
	else if (attribute >= ALIGNMENT_A && attribute <= ALIGNMENT_D &&
		 size == sizeof(uint32_t))
		memcpy(&preference->align[attribute - ALIGNMENT_A], value, size);
	else
		return INVALID;
	return failing(__func__);
}

static uint64_t rows_of(const struct layout *layout, int32_t transposed)
{
	return transposed ? layout->columns : layout->rows;
}

static bool agree(const struct operation *o, const struct layout *a,
	const struct layout *b, const struct layout *d)
{
	return a->type == b->type && a->type == d->type &&
	       rows_of(a, o->transpose[0]) == d->rows &&
	       rows_of(a, !o->transpose[0]) == rows_of(b, o->transpose[1]) &&
	       rows_of(b, !o->transpose[1]) == d->columns;
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, const struct operation *operation,
	const struct layout *a, const struct layout *b, const struct layout *c,
	const struct layout *d, const struct preference *preference, int asked,
	struct choice *choices, int *found)
{
	if (failing(__func__) != OK)
		return failing(__func__);
	if (!handle || asked < 1 || !agree(operation, a, b, d) ||
		memcmp(c, d, sizeof(*c)) != 0 || preference->workspace < WORKSPACE)
		return INVALID;
	*choices = (struct choice){.workspace = WORKSPACE, .state = OK};
	choices->algorithm.mark = mark;
	memcpy(choices->algorithm.align, preference->align, sizeof(preference->align));
	*found = getenv("KP_FAKE_CUBLASLT_NONE") ? 0 : 1;
	return OK;
}

static float get(const void *data, const struct layout *layout, int32_t transposed,
	uint64_t row, uint64_t column)
{
	uint64_t at = transposed ? column + row * (uint64_t)layout->line
				 : row + column * (uint64_t)layout->line;
	uint32_t bits;
	float value;

	if (layout->type == F32)
		return ((const float *)data)[at];
	bits = (uint32_t)((const uint16_t *)data)[at] << 16;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static void put(void *data, const struct layout *layout, uint64_t at, float value)
{
	uint32_t bits;

	if (layout->type == F32) {
		((float *)data)[at] = value;
		return;
	}
	memcpy(&bits, &value, sizeof(bits));
	((uint16_t *)data)[at] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void multiply(void *argument)
{
	const struct product *p = argument;
	uint64_t k = rows_of(&p->a, !p->operation.transpose[0]);

	for (uint64_t j = 0; j < p->d.columns; j++)
		for (uint64_t i = 0; i < p->d.rows; i++) {
			float sum = 0;

			for (uint64_t l = 0; l < k; l++)
				sum += get(p->data_a, &p->a, p->operation.transpose[0], i,
					       l) *
				       get(p->data_b, &p->b, p->operation.transpose[1], l,
					       j);
			put(p->data_d, &p->d, i + j * (uint64_t)p->d.line,
				p->alpha * sum);
		}
}

static bool aligned(const void *data, uint32_t to)
{
	return (uintptr_t)data % to == 0;
}

int cublasLtMatmul(void *handle, const struct operation *operation, const float *alpha,
	const void *a, const struct layout *layout_a, const void *b,
	const struct layout *layout_b, const float *beta, const void *c,
	const struct layout *layout_c, void *d, const struct layout *layout_d,
	const struct algorithm *algorithm, void *workspace, size_t workspace_bytes,
	void *stream)
{
	if (failing(__func__) != OK)
		return failing(__func__);
	const struct product product = {
		*operation, *layout_a, *layout_b, *layout_d, a, b, d, *alpha};

	if (!handle || algorithm->mark != mark || !workspace ||
		workspace_bytes < WORKSPACE || *beta != 0 || c != d ||
		!agree(operation, layout_a, layout_b, layout_d) ||
		memcmp(layout_c, layout_d, sizeof(*layout_c)) != 0 ||
		!aligned(a, algorithm->align[0]) || !aligned(b, algorithm->align[1]) ||
		!aligned(d, algorithm->align[3]))
		return INVALID;
	return fake_cuda_enqueue(stream, multiply, &product, sizeof(product)) == 0
		       ? OK
		       : EXECUTION_FAILED;
}
