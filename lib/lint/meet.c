/* SPDX-License-Identifier: MIT */
/* Can one request be accepted by two kernels? */
#include <float.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/lint/ties.h"

enum { EXACT = 1 << 30 }; /* numbers beyond are not worked out */

static bool share_one(const struct kp_strings *a, const struct kp_strings *b)
{
	for (size_t i = 0; i < a->count; i++)
		if (kp_text_among(a->items[i], b->items, b->count))
			return true;
	return false;
}

/* ---- devices --------------------------------------------------------------------- */

static bool is_below(const struct kp_arch *max, const struct kp_arch *min)
{
	return max->known && min->known && kp_arch_compare(max, min) < 0;
}

/* Archs of different vendors' devices are no one scale: only of one do they exclude. */
static bool devices_meet(const struct kp_capability *a, const struct kp_capability *b)
{
	if (a->device != b->device && a->device != KP_ANY_DEVICE &&
		b->device != KP_ANY_DEVICE)
		return false;
	if (a->vendors.count > 0 && b->vendors.count > 0 &&
		!share_one(&a->vendors, &b->vendors))
		return false;
	return !is_below(&a->max_arch, &b->min_arch) &&
	       !is_below(&b->max_arch, &a->min_arch);
}

/* ---- values ---------------------------------------------------------------------- */

static bool in_both(const struct kp_trait *a, const struct kp_trait *b)
{
	for (size_t i = 0; i < a->n_in; i++)
		if (kp_trait_accepts(a, &a->in[i]) && kp_trait_accepts(b, &a->in[i]))
			return true;
	return false;
}

static bool is_count(double number)
{
	return number >= 1 && number <= EXACT && (double)(int64_t)number == number;
}

/* The least common multiple of what both ask for; 0: not worked out. */
static int64_t step_of(const struct kp_trait *a, const struct kp_trait *b)
{
	int64_t x = 1, y = 1;

	if ((a->has_multiple && !is_count(a->multiple_of)) ||
		(b->has_multiple && !is_count(b->multiple_of)))
		return 0;
	if (a->has_multiple)
		x = (int64_t)a->multiple_of;
	if (b->has_multiple)
		y = (int64_t)b->multiple_of;
	int64_t product = x * y;
	while (y) {
		int64_t rest = x % y;
		x = y;
		y = rest;
	}
	return product / x;
}

/* Is a multiple of `step` from min to max? */
static bool has_multiple(double min, double max, int64_t step)
{
	/* 0, or one within reach of a bound that is not there. */
	if (step == 0 || min < -(double)EXACT || max > EXACT || (min <= 0 && max >= 0))
		return true;
	if (max < 0)
		return has_multiple(-max, -min, step);
	int64_t highest = (int64_t)max / step * step;
	return (double)highest >= min;
}

static bool ranges_meet(const struct kp_trait *a, const struct kp_trait *b)
{
	double min = a->has_min ? a->min : -DBL_MAX;
	double max = a->has_max ? a->max : DBL_MAX;

	min = b->has_min && b->min > min ? b->min : min;
	max = b->has_max && b->max < max ? b->max : max;
	if (min > max)
		return false;
	return (!a->has_multiple && !b->has_multiple) ||
	       has_multiple(min, max, step_of(a, b));
}

static bool traits_meet(const struct kp_trait *a, const struct kp_trait *b)
{
	if (a->n_in > 0)
		return in_both(a, b);
	return b->n_in > 0 ? in_both(b, a) : ranges_meet(a, b);
}

static const struct kp_trait *trait_of(const struct kp_spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->n_traits; i++)
		if (strcmp(spec->traits[i].name, name) == 0)
			return &spec->traits[i];
	return NULL;
}

/* One that a kernel does not declare is free, but for its default where it has one. */
static bool accepts_default(const struct kp_family *family, const struct kp_trait *trait)
{
	const struct kp_trait_rule *rule =
		family ? kp_family_trait(family, trait->name) : NULL;
	return !rule || !rule->has_preset || kp_trait_accepts(trait, &rule->preset);
}

static bool pass_of(
	const struct kp_spec *a, const struct kp_spec *b, const struct kp_family *family)
{
	for (size_t i = 0; i < a->n_traits; i++) {
		const struct kp_trait *other = trait_of(b, a->traits[i].name);
		if (other ? !traits_meet(&a->traits[i], other)
			  : !accepts_default(family, &a->traits[i]))
			return false;
	}
	return true;
}

bool kp_specs_meet(
	const struct kp_spec *a, const struct kp_spec *b, const struct kp_family *family)
{
	return strcmp(a->operation, b->operation) == 0 &&
	       share_one(&a->signatures, &b->signatures) &&
	       devices_meet(&a->capability, &b->capability) && pass_of(a, b, family) &&
	       pass_of(b, a, family);
}
