/* SPDX-License-Identifier: MIT */
/* Fills: first values, then elements, so that every dtype and stride is served. */
#include "lib/family/fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/random.h"
#include "lib/family/element.h"
#include "lib/family/tensor.h"

/* What a kind of fill draws from. Parameters that it does not have are 0. */
struct drawing {
	const char *role;
	struct kp_random random;
	struct kp_walk walk;
	enum kp_element element;
	bool has_total;
	double scale, min, max, value, total, below;
	struct kp_diag *diag;
};

static int bad(const struct drawing *d, const char *what)
{
	return kp_diag_set(d->diag, "bad_fill", d->role, "%s: %s", d->role, what);
}

static void put(struct drawing *d, double value)
{
	kp_element_store(d->element, d->walk.at, value);
}

static int fill_normal(struct drawing *d)
{
	while (kp_walk_next(&d->walk))
		put(d, d->scale * kp_random_normal(&d->random));
	return 0;
}

static int fill_uniform(struct drawing *d)
{
	if (!(d->min <= d->max))
		return bad(d, "min is above max");
	bool real = kp_element_is_real(d->element);
	double width = real ? d->max - d->min : ceil(d->max) - ceil(d->min);
	while (kp_walk_next(&d->walk)) {
		if (real)
			put(d, d->min + width * kp_random_unit(&d->random));
		else
			put(d, ceil(d->min) + (double)kp_random_below(
						      &d->random, (uint64_t)width));
	}
	return 0;
}

static int fill_constant(struct drawing *d)
{
	while (kp_walk_next(&d->walk))
		put(d, d->value);
	return 0;
}

static int fill_ids(struct drawing *d)
{
	if (d->walk.count > 0 && d->below < 1)
		return bad(d, "there is no number below 0");
	while (kp_walk_next(&d->walk))
		put(d, (double)kp_random_below(&d->random, (uint64_t)d->below));
	return 0;
}

/*
 * Lengths with a sum: each takes a random part of what the others can still give
 * or take, so that the rest can always be reached.
 */
static int fill_lens(struct drawing *d)
{
	double left = d->total;
	double more = (double)d->walk.count;
	double min = ceil(d->min);
	double max = floor(d->max);

	if (d->walk.count > 0 && !(min <= max))
		return bad(d, "min is above max");
	if (d->has_total &&
		(left < min * more || left > max * more || left != floor(left)))
		return bad(d, "the total cannot be reached by lengths from min to max");
	while (kp_walk_next(&d->walk)) {
		double low = min;
		double high = max;
		more--;
		if (d->has_total) {
			low = fmax(min, left - max * more);
			high = fmin(max, left - min * more);
			/* Around the mean of what is left, so that the last are like the
			 * first. */
			high = fmin(high, fmax(low, 2 * ceil(left / (more + 1)) - low));
		}
		double length = low + (double)kp_random_below(
					      &d->random, (uint64_t)(high - low) + 1);
		left -= length;
		put(d, length);
	}
	return 0;
}

static int fill_pages(struct drawing *d)
{
	size_t count = d->walk.count;
	size_t below = d->below >= 1 ? (size_t)d->below : 0;

	if (count == 0)
		return 0;
	if (below == 0)
		return bad(d, "there is no number below 0");
	if (below > UINT32_MAX)
		return bad(d, "more pages than a permutation is made of");
	uint32_t *numbers = calloc(below, sizeof(*numbers));
	if (!numbers)
		return kp_diag_no_memory(d->diag);
	for (size_t i = 0; i < below; i++)
		numbers[i] = (uint32_t)i;
	for (size_t i = below - 1; i > 0; i--) {
		size_t j = kp_random_below(&d->random, i + 1);
		uint32_t swapped = numbers[i];
		numbers[i] = numbers[j];
		numbers[j] = swapped;
	}
	while (kp_walk_next(&d->walk))
		put(d, numbers[d->walk.index % below]);
	free(numbers);
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

/* Sorted random places between 0 and total. */
static int fill_indptr(struct drawing *d)
{
	size_t count = d->walk.count;

	if (count == 0)
		return 0;
	if (!(d->total >= 0) || (count == 1 && d->total > 0))
		return bad(d, "its entries cannot go from 0 to the total");
	uint64_t *places = calloc(count, sizeof(*places));
	if (!places)
		return kp_diag_no_memory(d->diag);
	for (size_t i = 1; i + 1 < count; i++)
		places[i] = kp_random_below(&d->random, (uint64_t)d->total + 1);
	places[count - 1] = (uint64_t)d->total;
	qsort(places, count, sizeof(*places), compare);
	while (kp_walk_next(&d->walk))
		put(d, (double)places[d->walk.index]);
	free(places);
	return 0;
}

static const struct {
	const char *kind;
	int (*fill)(struct drawing *d);
} kinds[] = {
	{"normal", fill_normal},
	{"uniform", fill_uniform},
	{"constant", fill_constant},
	{"zero", fill_constant},
	{"ids", fill_ids},
	{"lens", fill_lens},
	{"pages", fill_pages},
	{"indptr", fill_indptr},
};

/* A parameter that is absent leaves *value alone. */
static int parameter(const struct kp_family *family, const struct kp_role *role,
	const struct kp_shape *shape, const char *name, double *value,
	struct kp_diag *diag)
{
	const json_t *given = json_object_get(role->fill.parameters, name);

	if (json_is_number(given))
		*value = json_number_value(given);
	else if (json_is_string(given) &&
		 !kp_family_value(family, shape, json_string_value(given), value))
		return kp_diag_set(diag, "missing_dim", role->name,
			"%s: the shape does not say %s, which its fill needs", role->name,
			json_string_value(given));
	return 0;
}

static int read_parameters(const struct kp_family *family, const struct kp_role *role,
	const struct kp_shape *shape, struct drawing *d)
{
	const struct {
		const char *name;
		double *value;
	} all[] = {{"scale", &d->scale}, {"min", &d->min}, {"max", &d->max},
		{"value", &d->value}, {"total", &d->total}, {"below", &d->below}};

	d->has_total = json_object_get(role->fill.parameters, "total") != NULL;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (parameter(family, role, shape, all[i].name, all[i].value, d->diag) <
			0)
			return -1;
	return 0;
}

static int element_of(const struct kp_tensor *tensor, const char *object,
	enum kp_element *element, struct kp_diag *diag)
{
	if (kp_element_of_dtype(tensor->dtype, element))
		return 0;
	return kp_diag_set(diag, "bad_dtype", object,
		"%s: kplug has no dtype of code %u, %u bits", object, tensor->dtype.code,
		tensor->dtype.bits);
}

int kp_fill(const struct kp_family *family, const struct kp_role *role,
	const struct kp_shape *shape, uint64_t seed, const struct kp_tensor *tensor,
	struct kp_diag *diag)
{
	struct drawing d = {.role = role->name,
		.walk = kp_walk_start(tensor),
		.scale = 1,
		.diag = diag};

	if (element_of(tensor, role->name, &d.element, diag) < 0 ||
		read_parameters(family, role, shape, &d) < 0)
		return -1;
	kp_random_seed(&d.random, seed, role->name);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].kind, role->fill.kind) == 0)
			return kinds[i].fill(&d);
	return bad(&d, "its kind of fill is not known");
}

int kp_fill_poison(const struct kp_tensor *tensor, struct kp_diag *diag)
{
	enum kp_element element;
	struct kp_walk walk = kp_walk_start(tensor);

	if (element_of(tensor, "tensor", &element, diag) < 0)
		return -1;
	while (kp_walk_next(&walk)) {
		if (kp_element_is_real(element))
			kp_element_store(element, walk.at, NAN);
		else
			memset(walk.at, 0xff, walk.bytes);
	}
	return 0;
}
