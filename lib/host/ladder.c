/* SPDX-License-Identifier: MIT */
/* Predicates out of the table's records, values out of the family's dims. */
#include "lib/host/ladder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/host/ladder_step.h"
#include "lib/select/query.h"

/* ---- values ------------------------------------------------------------------------ */

static int dim_of(const struct kp_family *family, const char *name)
{
	for (size_t i = 0; i < family->dims.count; i++)
		if (strcmp(family->dims.items[i], name) == 0)
			return (int)i;
	return KP_NO_DIM;
}

static bool product(const struct kp_factor_of *factors, size_t count, const int64_t *dims,
	double *out)
{
	double value = 1;

	for (size_t i = 0; i < count; i++) {
		int dim = factors[i].dim;
		if (dim != KP_NO_DIM && dims[dim] < 0)
			return false;
		value *= dim == KP_NO_DIM ? factors[i].number : (double)dims[dim];
	}
	*out = value;
	return true;
}

/* As lib/select/query_value.c works it out from the table. */
static bool value_of(const struct kp_source *source, const int64_t *dims, double *value)
{
	double times, over;

	if (!product(source->times, source->n_times, dims, &times) ||
		!product(source->over, source->n_over, dims, &over) || over == 0)
		return false;
	*value = times / over;
	return isfinite(*value);
}

static bool is_in(const struct kp_step_of *step, double value)
{
	for (size_t i = 0; i < step->n_in; i++)
		if (step->in[i] == value)
			return true;
	return !step->has_in;
}

static bool accepts(const struct kp_step_of *step, double value)
{
	const struct kp_trait *trait = &step->trait;

	return is_in(step, value) && !(trait->has_min && value < trait->min) &&
	       !(trait->has_max && value > trait->max) &&
	       !(trait->has_multiple &&
		       !kp_scalar_is_multiple(value, trait->multiple_of));
}

static bool holds(const struct kp_step_of *step, const int64_t *dims)
{
	double value;

	if (value_of(&step->source, dims, &value))
		return accepts(step, value);
	return !step->required;
}

/* ---- compiling --------------------------------------------------------------------- */

static bool read_term(const struct kp_family *family, const struct kp_term *term,
	struct kp_factor_of *factors, size_t *count)
{
	if (term->count > KP_FACTORS)
		return false;
	for (size_t i = 0; i < term->count; i++) {
		const char *name = term->factors[i].name;
		factors[i].dim = name ? dim_of(family, name) : KP_NO_DIM;
		factors[i].number = term->factors[i].number;
		if (name && factors[i].dim == KP_NO_DIM)
			return false;
	}
	*count = term->count;
	return true;
}

/*
 * What a name means for a call: a dim, a derived value, or a trait that is one of them.
 * *known is false for one that no step can hold.
 */
static bool find_source(const struct kp_family *family, const char *name,
	struct kp_source *source, bool *known)
{
	const struct kp_trait_rule *rule = kp_family_trait(family, name);

	if (rule && rule->dim)
		name = rule->dim;
	*source = (struct kp_source){.n_times = 1, .times = {{dim_of(family, name), 0}}};
	*known = true;
	if (source->times[0].dim != KP_NO_DIM)
		return true;
	for (size_t i = 0; i < family->n_derived; i++) {
		const struct kp_derived *derived = &family->derived[i];
		if (strcmp(derived->name, name) != 0)
			continue;
		*known = read_term(family, &derived->times, source->times,
				 &source->n_times) &&
			 read_term(family, &derived->over, source->over, &source->n_over);
		return true;
	}
	return false;
}

static bool is_given(const struct kp_request *request, const char *name)
{
	for (size_t i = 0; i < request->n_traits; i++)
		if (strcmp(request->traits[i].name, name) == 0)
			return true;
	return false;
}

static bool are_fixed(
	const struct kp_factor_of *factors, size_t count, const struct kp_bounds *bounds)
{
	for (size_t i = 0; i < count; i++)
		if (factors[i].dim != KP_NO_DIM &&
			bounds->least[factors[i].dim] != bounds->most[factors[i].dim])
			return false;
	return true;
}

/* A least and a most are alike between two extents where they are alike at both. */
static bool is_decided(const struct kp_step_of *step, const struct kp_bounds *bounds)
{
	const struct kp_source *source = &step->source;
	const struct kp_trait *trait = &step->trait;

	/* One extent is all that calls have: what holds for it holds for all. */
	if (are_fixed(source->times, source->n_times, bounds) &&
		are_fixed(source->over, source->n_over, bounds))
		return true;
	if (!kp_source_is_dim(source) || step->has_in || trait->has_multiple)
		return false;
	double least = (double)bounds->least[source->times[0].dim];
	double most = (double)bounds->most[source->times[0].dim];
	bool all = (!trait->has_min || least >= trait->min) &&
		   (!trait->has_max || most <= trait->max);
	bool none = (trait->has_min && most < trait->min) ||
		    (trait->has_max && least > trait->max);
	return all || none;
}

/* Extents are numbers: a text or a truth in a list is none of them. */
static int read_list(const struct kp_table *table, struct kp_list list,
	struct kp_step_of *step, struct kp_diag *diag)
{
	step->has_in = list.count > 0;
	step->in = calloc(list.count + 1, sizeof(*step->in));
	if (!step->in)
		return kp_diag_no_memory(diag);
	for (size_t i = 0; i < list.count; i++) {
		struct kp_scalar scalar;
		kp_table_scalar(table, kp_list_get(list, i), &scalar);
		if (scalar.kind == KP_SCALAR_NUMBER)
			step->in[step->n_in++] = scalar.number;
	}
	return 0;
}

static int read_trait(const struct kp_table *table, const unsigned char *record,
	struct kp_step_of *step, struct kp_diag *diag)
{
	(void)kp_table_trait(table, record, NULL, 0, &step->trait);
	step->required = step->trait.required;
	return read_list(
		table, kp_table_list(table, kp_load32(record + KP_TRAIT_IN)), step, diag);
}

static bool is_source_equal(const struct kp_source *a, const struct kp_source *b)
{
	bool equal = a->n_times == b->n_times && a->n_over == b->n_over;

	for (size_t i = 0; equal && i < a->n_times; i++)
		equal = a->times[i].dim == b->times[i].dim &&
			(a->times[i].dim != KP_NO_DIM ||
				a->times[i].number == b->times[i].number);
	for (size_t i = 0; equal && i < a->n_over; i++)
		equal = a->over[i].dim == b->over[i].dim &&
			(a->over[i].dim != KP_NO_DIM ||
				a->over[i].number == b->over[i].number);
	return equal;
}

static bool is_step_equal(const struct kp_step_of *a, const struct kp_step_of *b)
{
	const struct kp_trait *x = &a->trait, *y = &b->trait;

	return is_source_equal(&a->source, &b->source) && a->required == b->required &&
	       a->has_in == b->has_in && x->has_min == y->has_min &&
	       (!x->has_min || x->min == y->min) && x->has_max == y->has_max &&
	       (!x->has_max || x->max == y->max) && x->has_multiple == y->has_multiple &&
	       (!x->has_multiple || x->multiple_of == y->multiple_of) &&
	       a->n_in == b->n_in &&
	       (a->n_in == 0 || memcmp(a->in, b->in, a->n_in * sizeof(*a->in)) == 0);
}

bool kp_ladder_equal(const struct kp_ladder *a, const struct kp_ladder *b)
{
	bool equal = a->count == b->count && a->by_dims == b->by_dims &&
		     a->n_dims == b->n_dims;

	for (size_t i = 0; equal && i < a->count; i++)
		equal = is_step_equal(&a->steps[i], &b->steps[i]);
	return equal;
}

static bool has_step(const struct kp_ladder *ladder, const struct kp_step_of *step)
{
	for (size_t i = 0; i < ladder->count; i++)
		if (is_step_equal(&ladder->steps[i], step))
			return true;
	return false;
}

static int add(struct kp_ladder *ladder, const struct kp_step_of *step,
	const struct kp_bounds *bounds, struct kp_diag *diag)
{
	bool decided = is_decided(step, bounds) || has_step(ladder, step);

	if (decided || ladder->count == KP_LADDER_MOST) {
		ladder->by_dims |= !decided;
		free(step->in);
		return 0;
	}
	struct kp_step_of *steps =
		realloc(ladder->steps, (ladder->count + 1) * sizeof(*steps));
	if (!steps) {
		free(step->in);
		return kp_diag_no_memory(diag);
	}
	ladder->steps = steps;
	steps[ladder->count++] = *step;
	return 0;
}

static int add_kernel(struct kp_ladder *ladder, const struct kp_query *query,
	size_t kernel, const struct kp_family *family, const struct kp_bounds *bounds,
	struct kp_diag *diag)
{
	const struct kp_table *table = query->table;
	struct kp_list traits = kp_table_list(
		table, kp_load32(kp_table_kernel(table, kernel) + KP_KERNEL_TRAITS));

	for (size_t i = 0; i < traits.count; i++) {
		const unsigned char *record =
			kp_table_record(table, KP_SECTION_TRAITS, kp_list_get(traits, i));
		const char *name =
			kp_table_text(table, kp_load32(record + KP_TRAIT_NAME));
		struct kp_step_of step = {.required = false};
		bool known;
		if (is_given(query->request, name) ||
			!find_source(family, name, &step.source, &known))
			continue;
		if (!known) {
			ladder->by_dims = true;
			continue;
		}
		if (read_trait(table, record, &step, diag) < 0 ||
			add(ladder, &step, bounds, diag) < 0)
			return -1;
	}
	return 0;
}

static int compile(struct kp_ladder *ladder, const struct kp_query *query,
	const struct kp_family *family, const struct kp_bounds *bounds,
	struct kp_diag *diag)
{
	const struct kp_table *table = query->table;

	if (query->entry == SIZE_MAX)
		return 0;
	const unsigned char *entry =
		kp_table_record(table, KP_SECTION_SIGNATURES, query->entry);
	struct kp_list kernels =
		kp_table_list(table, kp_load32(entry + KP_SIGNATURE_KERNELS));
	struct kp_list fits = kp_table_list(table, kp_load32(entry + KP_SIGNATURE_FITS));
	for (size_t i = 0; i < kernels.count; i++) {
		uint32_t kernel = kp_list_get(kernels, i);
		/* Those that fit alike have the same traits. */
		if (i < fits.count && kp_list_get(fits, i) != kernel)
			continue;
		if (add_kernel(ladder, query, kernel, family, bounds, diag) < 0)
			return -1;
	}
	return 0;
}

struct kp_ladder *kp_ladder_new(const struct kp_table *table,
	const struct kp_request *request, const struct kp_family *family,
	const struct kp_bounds *bounds, struct kp_diag *diag)
{
	struct kp_ladder *ladder = calloc(1, sizeof(*ladder));

	if (!ladder) {
		kp_diag_no_memory(diag);
		return NULL;
	}
	if (!family)
		return ladder;
	ladder->n_dims = family->dims.count;
	struct kp_query *query = kp_query_new(table, request, diag);
	int result = query ? compile(ladder, query, family, bounds, diag) : -1;
	free(query);
	if (result == 0)
		return ladder;
	kp_ladder_free(ladder);
	return NULL;
}

void kp_ladder_free(struct kp_ladder *ladder)
{
	for (size_t i = 0; ladder && i < ladder->count; i++)
		free(ladder->steps[i].in);
	if (ladder)
		free(ladder->steps);
	free(ladder);
}

uint64_t kp_ladder_mask(const struct kp_ladder *ladder, const int64_t *dims)
{
	uint64_t mask = 0;

	if (ladder->by_dims)
		return kp_hash_bytes(KP_HASH_START, dims, ladder->n_dims * sizeof(*dims));
	for (size_t i = 0; i < ladder->count; i++)
		mask |= (uint64_t)holds(&ladder->steps[i], dims) << i;
	return mask;
}
