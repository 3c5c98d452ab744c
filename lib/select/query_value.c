/* SPDX-License-Identifier: MIT */
/*
 * The values of traits in a query: what the request says, what its shape gives,
 * and the family's defaults for the rest.
 */
#include <math.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/select/query.h"

static int too_many(const struct kp_query *query, struct kp_diag *diag)
{
	return kp_diag_set(diag, "too_many", query->request->operation,
		"the request and its family have more than %d traits", KP_QUERY_TRAITS);
}

/* Texts are kept once: where the family has the name, it is found without a search. */
static uint32_t symbol_of(
	const struct kp_query *query, const char *name, const unsigned char *rule)
{
	if (rule)
		return kp_load32(rule + KP_RULE_NAME);
	if (!query->family)
		return kp_table_symbol(query->table, name);
	struct kp_list dims = kp_table_list(
		query->table, kp_load32(query->family + KP_FAMILY_DIM_LIST));
	for (size_t i = 0; i < dims.count; i++)
		if (kp_text_is(kp_table_text(query->table, kp_list_get(dims, i)), name))
			return kp_list_get(dims, i);
	return kp_table_symbol(query->table, name);
}

static struct kp_query_trait *add_trait(struct kp_query *query, const char *name,
	const unsigned char *rule, enum kp_query_origin origin)
{
	if (query->n_traits == KP_QUERY_TRAITS)
		return NULL;
	struct kp_query_trait *trait = &query->traits[query->n_traits++];
	trait->name = symbol_of(query, name, rule);
	trait->text = name;
	trait->rule = rule;
	trait->first = query->n_values;
	trait->count = 0;
	trait->origin = origin;
	trait->deviates = false;
	return trait;
}

static bool differs(const struct kp_query *query, const struct kp_query_value *value,
	const unsigned char *rule)
{
	uint32_t link = rule ? kp_load32(rule + KP_RULE_PRESET) : 0;
	if (!link)
		return false;
	const unsigned char *preset =
		kp_table_record(query->table, KP_SECTION_SCALARS, link - 1);
	if (value->kind != (enum kp_scalar_kind)preset[KP_SCALAR_KIND])
		return true;
	if (value->kind == KP_SCALAR_TEXT)
		return value->text != kp_load32(preset + KP_SCALAR_STRING);
	return value->number != kp_load_double(preset + KP_SCALAR_VALUE);
}

/* query->values always has room: a value a trait, and 16 for each asked one. */
static void add_value(struct kp_query *query, struct kp_query_trait *trait,
	const struct kp_scalar *scalar)
{
	struct kp_query_value *value = &query->values[query->n_values++];

	value->kind = scalar->kind;
	value->number = scalar->number;
	value->string = scalar->text;
	value->text = scalar->kind == KP_SCALAR_TEXT
			      ? kp_table_symbol(query->table, scalar->text)
			      : 0;
	trait->count++;
	trait->deviates |= differs(query, value, trait->rule);
}

static bool is_given(const struct kp_query *query, const char *name)
{
	for (size_t i = 0; i < query->n_traits; i++)
		if (kp_text_is(query->traits[i].text, name))
			return true;
	return false;
}

/* The product of a list of FACTORS; false when a dim is not in the shape. */
static bool product(const struct kp_query *query, uint32_t list, double *out)
{
	struct kp_list factors = kp_table_list(query->table, list);
	double value = 1;

	for (size_t i = 0; i < factors.count; i++) {
		const unsigned char *factor = kp_table_record(
			query->table, KP_SECTION_FACTORS, kp_list_get(factors, i));
		uint32_t name = kp_load32(factor + KP_FACTOR_NAME);
		if (!name) {
			value *= kp_load_double(factor + KP_FACTOR_NUMBER);
			continue;
		}
		int64_t extent = kp_shape_get(
			&query->request->shape, kp_table_text(query->table, name));
		if (extent < 0)
			return false;
		value *= (double)extent;
	}
	*out = value;
	return true;
}

/* The value of a dim or derived value in the request's shape. */
static bool shape_value(const struct kp_query *query, const char *name, double *out)
{
	int64_t extent = kp_shape_get(&query->request->shape, name);
	if (extent >= 0) {
		*out = (double)extent;
		return true;
	}
	if (!query->family)
		return false;
	size_t first = kp_load32(query->family + KP_FAMILY_DERIVED_RANGE);
	size_t count = kp_load32(query->family + KP_FAMILY_DERIVED_RANGE + 4);
	for (size_t i = first; i < first + count; i++) {
		const unsigned char *derived =
			kp_table_record(query->table, KP_SECTION_DERIVED, i);
		double times, over;
		if (strcmp(name, kp_table_text(query->table,
					 kp_load32(derived + KP_DERIVED_NAME))) != 0)
			continue;
		if (!product(query, kp_load32(derived + KP_DERIVED_TIMES), &times) ||
			!product(query, kp_load32(derived + KP_DERIVED_OVER), &over) ||
			over == 0)
			return false;
		*out = times / over;
		return isfinite(*out);
	}
	return false;
}

/* Does the shape say another value than the request's trait? */
static bool contradicts(const struct kp_query *query, const struct kp_query_trait *trait,
	struct kp_diag *diag)
{
	const char *dim =
		kp_table_text_or_null(query->table, kp_load32(trait->rule + KP_RULE_DIM));
	double number;

	if (!dim || !shape_value(query, dim, &number))
		return false;
	for (size_t i = 0; i < trait->count; i++)
		if (query->values[trait->first + i].number != number) {
			kp_diag_set(diag, "bad_trait", trait->text,
				"the trait %s is the dim %s, which is %.15g in the shape",
				trait->text, dim, number);
			return true;
		}
	return false;
}

static int add_asked(struct kp_query *query, struct kp_diag *diag)
{
	for (size_t i = 0; i < query->request->n_traits; i++) {
		const struct kp_asked_trait *asked = &query->request->traits[i];
		const unsigned char *rule =
			kp_query_rule(query->table, query->family, asked->name);
		if (kp_query_check_trait(query->table, query->family,
			    query->request->operation, asked->name, diag) < 0)
			return -1;
		struct kp_query_trait *trait =
			add_trait(query, asked->name, rule, KP_FROM_REQUEST);
		if (!trait)
			return too_many(query, diag);
		for (size_t v = 0; v < asked->count; v++)
			add_value(query, trait, &asked->values[v]);
		if (rule && contradicts(query, trait, diag))
			return -1;
	}
	return 0;
}

static int add_one(struct kp_query *query, const char *name, const unsigned char *rule,
	enum kp_query_origin origin, const struct kp_scalar *value, struct kp_diag *diag)
{
	struct kp_query_trait *trait = add_trait(query, name, rule, origin);
	if (!trait)
		return too_many(query, diag);
	add_value(query, trait, value);
	return 0;
}

static int add_number(struct kp_query *query, const char *name, const unsigned char *rule,
	double number, struct kp_diag *diag)
{
	const struct kp_scalar value = {KP_SCALAR_NUMBER, number, NULL};

	return add_one(query, name, rule, KP_FROM_SHAPE, &value, diag);
}

/* From the shape where it is a dim of that, else the family's default, if it has one. */
static int add_rule(struct kp_query *query, const char *name, const unsigned char *rule,
	struct kp_diag *diag)
{
	const char *dim =
		kp_table_text_or_null(query->table, kp_load32(rule + KP_RULE_DIM));
	uint32_t preset = kp_load32(rule + KP_RULE_PRESET);
	struct kp_scalar value;
	double number;

	if (dim && shape_value(query, dim, &number))
		return add_number(query, name, rule, number, diag);
	if (!preset)
		return 0;
	kp_table_scalar(query->table, preset - 1, &value);
	return add_one(query, name, rule, KP_FROM_FAMILY, &value, diag);
}

/* Traits of the family that the request does not name. */
static int add_rules(struct kp_query *query, struct kp_diag *diag)
{
	size_t first = kp_load32(query->family + KP_FAMILY_RULE_RANGE);
	size_t count = kp_load32(query->family + KP_FAMILY_RULE_RANGE + 4);

	for (size_t i = first; i < first + count; i++) {
		const unsigned char *rule =
			kp_table_record(query->table, KP_SECTION_RULES, i);
		const char *name =
			kp_table_text(query->table, kp_load32(rule + KP_RULE_NAME));
		if (!is_given(query, name) && add_rule(query, name, rule, diag) < 0)
			return -1;
	}
	return 0;
}

static int add_derived(struct kp_query *query, struct kp_diag *diag)
{
	size_t first = kp_load32(query->family + KP_FAMILY_DERIVED_RANGE);
	size_t count = kp_load32(query->family + KP_FAMILY_DERIVED_RANGE + 4);

	for (size_t i = first; i < first + count; i++) {
		const unsigned char *derived =
			kp_table_record(query->table, KP_SECTION_DERIVED, i);
		const char *name =
			kp_table_text(query->table, kp_load32(derived + KP_DERIVED_NAME));
		double number;
		if (!is_given(query, name) && shape_value(query, name, &number) &&
			add_number(query, name, NULL, number, diag) < 0)
			return -1;
	}
	return 0;
}

static int add_dims(struct kp_query *query, struct kp_diag *diag)
{
	const struct kp_shape *shape = &query->request->shape;

	for (size_t i = 0; i < shape->count; i++)
		if (!is_given(query, shape->dims[i].name) &&
			add_number(query, shape->dims[i].name, NULL,
				(double)shape->dims[i].extent, diag) < 0)
			return -1;
	return 0;
}

int kp_query_values(struct kp_query *query, struct kp_diag *diag)
{
	if (add_asked(query, diag) < 0 || add_dims(query, diag) < 0)
		return -1;
	if (!query->family)
		return 0;
	return add_rules(query, diag) < 0 ? -1 : add_derived(query, diag);
}
