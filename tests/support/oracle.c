/* SPDX-License-Identifier: MIT */
/* Definitions of the families, in double, straight and slow. */
#include "tests/support/oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/family/element.h"
#include "lib/family/tensor.h"

enum { ROLES = 8 };

/* The tensors of a call in double and row-major. An absent one has no values. */
struct operands {
	double *of[ROLES];
	const int64_t *shape[ROLES];
	const union kp_value *attributes;
};

static double *new_doubles(size_t count)
{
	double *values = calloc(count + 1, sizeof(*values));

	if (!values)
		abort();
	return values;
}

static double *read_tensor(const struct kp_tensor *tensor)
{
	double *values = new_doubles(kp_tensor_count(tensor));
	struct kp_walk walk = kp_walk_start(tensor);
	enum kp_element element;

	if (!kp_element_of_dtype(tensor->dtype, &element))
		abort();
	while (kp_walk_next(&walk))
		values[walk.index] = kp_element_load(element, walk.at);
	return values;
}

static void square(const struct operands *t, double *y)
{
	for (int64_t i = 0; i < t->shape[0][0]; i++)
		y[i] = pow(t->of[0][i], 2);
}

/* The logistic function as a hyperbolic tangent. */
static void silu_mul(const struct operands *t, double *out)
{
	for (int64_t i = 0; i < t->shape[0][0] * t->shape[0][1]; i++)
		out[i] = t->of[0][i] * (0.5 + 0.5 * tanh(t->of[0][i] / 2)) * t->of[1][i];
}

static void mm(const struct operands *t, double *c)
{
	int64_t m = t->shape[0][0], k = t->shape[0][1], n = t->shape[1][1];

	for (int64_t i = 0; i < m; i++)
		for (int64_t p = 0; p < k; p++)
			for (int64_t j = 0; j < n; j++)
				c[i * n + j] += t->of[0][i * k + p] * t->of[1][p * n + j];
}

static void rms(const struct operands *t, double *y)
{
	int64_t n = t->shape[0][1];

	for (int64_t r = 0; r < t->shape[0][0]; r++) {
		const double *x = t->of[0] + r * n;
		double squares = 0;

		for (int64_t i = 0; i < n; i++)
			squares += pow(x[i], 2);
		for (int64_t i = 0; i < n; i++)
			y[r * n + i] =
				x[i] * (t->of[1] ? t->of[1][i] : 1) *
				pow(squares / (double)n + t->attributes[0].f, -0.5);
	}
}

/* Nothing is taken away from x first: inputs are small. */
static void softmax(const struct operands *t, double *y)
{
	int64_t n = t->shape[0][1];

	for (int64_t r = 0; r < t->shape[0][0]; r++) {
		double sum = 0;

		for (int64_t i = 0; i < n; i++)
			sum += exp(t->of[0][r * n + i]);
		for (int64_t i = 0; i < n; i++)
			y[r * n + i] = exp(t->of[0][r * n + i]) / sum;
	}
}

enum { Q, K, V, TABLE, LENS };

/* Where the key and the value of a token are for a head. */
static int64_t cached(
	const struct operands *t, int64_t sequence, int64_t token, int64_t head)
{
	int64_t page = t->shape[K][1], heads = t->shape[K][2], d = t->shape[K][3];
	int64_t named =
		(int64_t)t->of[TABLE][sequence * t->shape[TABLE][1] + token / page];

	return ((named * page + token % page) * heads + head / (t->shape[Q][1] / heads)) *
	       d;
}

static void attend(const struct operands *t, int64_t sequence, int64_t head, double *out)
{
	int64_t d = t->shape[Q][2], length = (int64_t)t->of[LENS][sequence];
	int64_t window = t->attributes[1].i;
	const double *q = t->of[Q] + (sequence * t->shape[Q][1] + head) * d;
	double scale = t->attributes[0].f, total = 0;

	if (scale == 0)
		scale = pow((double)d, -0.5);
	for (int64_t token = window > 0 && window < length ? length - window : 0;
		token < length; token++) {
		int64_t at = cached(t, sequence, token, head);
		double score = 0;

		for (int64_t e = 0; e < d; e++)
			score += q[e] * t->of[K][at + e];
		total += exp(score * scale);
		for (int64_t e = 0; e < d; e++)
			out[e] += exp(score * scale) * t->of[V][at + e];
	}
	for (int64_t e = 0; e < d && total > 0; e++)
		out[e] /= total;
}

static void decode(const struct operands *t, double *out)
{
	for (int64_t i = 0; i < t->shape[Q][0]; i++)
		for (int64_t j = 0; j < t->shape[Q][1]; j++)
			attend(t, i, j, out + (i * t->shape[Q][1] + j) * t->shape[Q][2]);
}

static const struct definition {
	const char *operation;
	void (*compute)(const struct operands *t, double *out);
} definitions[] = {
	{"activation/silu_mul", silu_mul},
	{"attention/decode", decode},
	{"elementwise/square", square},
	{"gemm/mm", mm},
	{"norm/rms", rms},
	{"norm/softmax", softmax},
};

static const struct definition *find(const char *operation)
{
	for (size_t i = 0; i < sizeof(definitions) / sizeof(definitions[0]); i++)
		if (strcmp(definitions[i].operation, operation) == 0)
			return &definitions[i];
	return NULL;
}

double *oracle_compute(const char *operation, const struct kp_tensor *const *tensors,
	uint32_t n_tensors, const union kp_value *attributes)
{
	const struct definition *definition = find(operation);
	struct operands t = {.attributes = attributes};
	double *out;

	if (!definition || n_tensors > ROLES)
		return NULL;
	for (uint32_t i = 0; i < n_tensors; i++) {
		if (!tensors[i])
			continue;
		t.shape[i] = tensors[i]->shape;
		if (i + 1 < n_tensors)
			t.of[i] = read_tensor(tensors[i]);
	}
	out = new_doubles(kp_tensor_count(tensors[n_tensors - 1]));
	definition->compute(&t, out);
	for (uint32_t i = 0; i < n_tensors; i++)
		free(t.of[i]);
	return out;
}
