/* SPDX-License-Identifier: MIT */
/* Comparisons of results, element by element and as a whole. */
#include "lib/family/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/family/element.h"
#include "lib/family/tensor.h"

/* How far one element may be off, in tolerances of the largest magnitude. */
static const double peak_factor = 8;

/* Two tensors walked side by side. */
struct pair {
	enum kp_element elements[2];
	struct kp_walk walks[2];
	double result, reference;
};

static bool next(struct pair *pair)
{
	if (!kp_walk_next(&pair->walks[0]) || !kp_walk_next(&pair->walks[1]))
		return false;
	pair->result = kp_element_load(pair->elements[0], pair->walks[0].at);
	pair->reference = kp_element_load(pair->elements[1], pair->walks[1].at);
	return true;
}

static void note(struct kp_comparison *c, const struct pair *pair)
{
	c->has_first = true;
	c->first = pair->walks[0].index;
	c->result = pair->result;
	c->reference = pair->reference;
}

static void count_wrong(struct kp_comparison *c, const struct pair *pair)
{
	if (c->n_wrong++ == 0)
		note(c, pair);
}

static bool is_finite(const struct pair *pair)
{
	return isfinite(pair->result) && isfinite(pair->reference);
}

/* ---- norm ------------------------------------------------------------------------- */

/* Sums of squares, scaled so that they do not overflow for the largest doubles. */
struct norm {
	double scale, sum;
};

static void add(struct norm *norm, double value)
{
	double magnitude = fabs(value);
	if (magnitude == 0)
		return;
	if (magnitude > norm->scale) {
		double ratio = norm->scale / magnitude;
		norm->sum = 1 + norm->sum * ratio * ratio;
		norm->scale = magnitude;
	} else {
		double ratio = magnitude / norm->scale;
		norm->sum += ratio * ratio;
	}
}

static double value_of(const struct norm *norm)
{
	return norm->scale * sqrt(norm->sum);
}

static void compare_norm(struct pair pair, struct kp_comparison *c)
{
	const struct pair start = pair;
	struct norm difference = {0};
	struct norm reference = {0};
	struct kp_comparison worst = {0};
	bool finite = true;

	while (next(&pair)) {
		if (!is_finite(&pair)) {
			finite = false;
			continue;
		}
		double off = fabs(pair.result - pair.reference);
		add(&difference, off);
		add(&reference, pair.reference);
		if (off > c->largest) {
			c->largest = off;
			note(&worst, &pair);
		}
	}
	/* The scale of a norm is the largest magnitude. */
	double whole = reference.scale > 0 ? value_of(&reference) : 1;
	double peak = reference.scale > 0 ? reference.scale : 1;
	double most = peak_factor * c->tolerance * peak;
	c->error = finite ? fmax(value_of(&difference) / whole,
				    c->largest / peak / peak_factor)
			  : (double)INFINITY;
	c->right = c->error <= c->tolerance;
	if (c->right)
		return;
	for (pair = start; next(&pair);)
		if (!is_finite(&pair) || fabs(pair.result - pair.reference) > most)
			count_wrong(c, &pair);
	if (!c->has_first && worst.has_first) {
		c->has_first = true;
		c->first = worst.first;
		c->result = worst.result;
		c->reference = worst.reference;
	}
}

/* ---- exact and set ------------------------------------------------------------------
 */

/* Integers of 64 bits do not all fit a double: equal dtypes are compared as bytes. */
static bool is_same(const struct pair *pair)
{
	if (pair->elements[0] == pair->elements[1] &&
		!kp_element_is_real(pair->elements[0]))
		return memcmp(pair->walks[0].at, pair->walks[1].at,
			       pair->walks[0].bytes) == 0;
	return pair->result == pair->reference;
}

static void compare_exact(struct pair pair, struct kp_comparison *c)
{
	bool finite = true;
	while (next(&pair)) {
		double off = fabs(pair.result - pair.reference);
		if (!is_finite(&pair))
			finite = false;
		else if (off > c->largest)
			c->largest = off;
		if (!is_finite(&pair) || !is_same(&pair))
			count_wrong(c, &pair);
	}
	c->tolerance = 0;
	c->error = finite ? c->largest : (double)INFINITY;
	c->right = c->n_wrong == 0;
}

static int by_value(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;
	/* NaN goes last, so that the order is one. */
	if (isnan(left) || isnan(right))
		return isnan(left) - isnan(right);
	return (left > right) - (left < right);
}

/* The values of one row of both, each sorted; the pair stops behind it. */
static void read_row(struct pair *pair, double *rows, size_t n)
{
	for (size_t i = 0; i < n && next(pair); i++) {
		rows[i] = pair->result;
		rows[n + i] = pair->reference;
	}
	qsort(rows, n, sizeof(*rows), by_value);
	qsort(rows + n, n, sizeof(*rows), by_value);
}

static int compare_set(
	struct pair pair, const struct kp_tensor *tensor, struct kp_comparison *c)
{
	size_t count = kp_tensor_count(tensor);
	size_t n = tensor->ndim > 0 ? (size_t)tensor->shape[tensor->ndim - 1] : 1;
	bool finite = true;

	c->tolerance = 0;
	c->right = true;
	if (count == 0)
		return 0;
	double *rows = calloc(n, 2 * sizeof(*rows));
	if (!rows)
		return -1;
	for (size_t first = 0; first < count; first += n) {
		read_row(&pair, rows, n);
		for (size_t i = 0; i < n; i++) {
			struct pair at = pair;
			at.walks[0].index = first;
			at.result = rows[i];
			at.reference = rows[n + i];
			finite = finite && is_finite(&at);
			c->largest = fmax(c->largest, fabs(at.result - at.reference));
			if (!is_finite(&at) || at.result != at.reference)
				count_wrong(c, &at);
		}
	}
	free(rows);
	c->right = c->n_wrong == 0;
	c->error = finite ? c->largest : (double)INFINITY;
	return 0;
}

/* ---- all ----------------------------------------------------------------------------
 */

static int check_shapes(const struct kp_tensor *result, const struct kp_tensor *reference,
	struct kp_diag *diag)
{
	bool same = result->ndim == reference->ndim;
	for (int32_t i = 0; same && i < result->ndim; i++)
		same = result->shape[i] == reference->shape[i];
	if (!same)
		return kp_diag_set(diag, "shapes_differ", "result",
			"result and reference have different shapes");
	return 0;
}

double kp_compare_tolerance(const struct kp_family *family, struct kp_dtype dtype)
{
	enum kp_element element;
	if (!kp_element_of_dtype(dtype, &element))
		return 0;
	return json_number_value(
		json_object_get(family->tolerance, kp_element_name(element)));
}

int kp_compare(enum kp_check_kind kind, const struct kp_tensor *result,
	const struct kp_tensor *reference, double tolerance,
	struct kp_comparison *comparison, struct kp_diag *diag)
{
	struct kp_comparison made = {.tolerance = tolerance};
	struct pair pair = {
		.walks = {kp_walk_start(result), kp_walk_start(reference)},
	};

	if (check_shapes(result, reference, diag) < 0)
		return -1;
	if (!kp_element_of_dtype(result->dtype, &pair.elements[0]) ||
		!kp_element_of_dtype(reference->dtype, &pair.elements[1]))
		return kp_diag_set(diag, "bad_dtype", "result",
			"kplug has no name for the dtype of a result or its reference");
	if (kind == KP_CHECK_NORM)
		compare_norm(pair, &made);
	else if (kind == KP_CHECK_EXACT)
		compare_exact(pair, &made);
	else if (kind != KP_CHECK_SET)
		return kp_diag_set(diag, "unsupported_check", "check",
			"kplug compares by norm, exact or set, not distributions");
	else if (compare_set(pair, result, &made) < 0)
		return kp_diag_no_memory(diag);
	*comparison = made;
	return 0;
}

const char *kp_comparison_print(
	const struct kp_comparison *comparison, char *text, size_t size)
{
	const struct kp_comparison *c = comparison;
	if (c->has_first)
		(void)snprintf(text, size,
			"element %zu is %.9g, the reference has %.9g; error %.3g, "
			"allowed %.3g",
			c->first, c->result, c->reference, c->error, c->tolerance);
	else
		(void)snprintf(
			text, size, "error %.3g, allowed %.3g", c->error, c->tolerance);
	return text;
}
