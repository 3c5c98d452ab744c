/* SPDX-License-Identifier: MIT */
/* What a table keeps of families: all that selection asks of them. */
#include "lib/table/table_build.h"

#include <stdlib.h>

static unsigned first_of(
	const struct kp_build *build, enum kp_section section, size_t record)
{
	return (unsigned)(build->sections[section].size / record);
}

static void add_roles(struct kp_build *build, const struct kp_family *family)
{
	for (size_t i = 0; i < family->n_roles; i++) {
		const struct kp_role *role = &family->roles[i];
		unsigned char record[KP_ROLE_RECORD] = {0};
		kp_store32(record + KP_ROLE_NAME, kp_build_text(build, role->name));
		kp_store32(record + KP_ROLE_REVISION, role->revision);
		record[KP_ROLE_BITS] =
			(unsigned char)((role->key ? KP_ROLE_KEY : 0) |
					(role->optional ? KP_ROLE_OPTIONAL : 0));
		kp_build_record(build, KP_SECTION_ROLES, record, sizeof(record));
	}
}

static void add_rule(
	struct kp_build *build, const struct kp_trait_rule *rule, unsigned bits)
{
	unsigned char record[KP_RULE_RECORD] = {0};

	kp_store32(record + KP_RULE_NAME, kp_build_symbol(build, rule->name));
	kp_store32(record + KP_RULE_DIM, kp_build_symbol(build, rule->dim));
	if (rule->has_preset)
		kp_store32(record + KP_RULE_PRESET,
			kp_build_scalar(build, &rule->preset) + 1);
	kp_store32(record + KP_RULE_REVISION, rule->revision);
	record[KP_RULE_KIND] = (unsigned char)rule->kind;
	record[KP_RULE_BITS] =
		(unsigned char)(bits | (rule->integer ? KP_RULE_INTEGER : 0));
	kp_build_record(build, KP_SECTION_RULES, record, sizeof(record));
}

/* A request says an attribute as it says a trait. */
static void add_attribute(struct kp_build *build, const struct kp_attribute *attribute)
{
	bool is_bool = attribute->type == KP_ATTRIBUTE_BOOL;
	struct kp_trait_rule rule = {
		.name = attribute->name,
		.kind = is_bool ? KP_SCALAR_BOOL : KP_SCALAR_NUMBER,
		.integer = attribute->type == KP_ATTRIBUTE_INT,
		.has_preset = true,
		.preset = {is_bool ? KP_SCALAR_BOOL : KP_SCALAR_NUMBER, attribute->preset,
			NULL},
		.revision = attribute->revision,
	};
	add_rule(build, &rule, KP_RULE_ATTRIBUTE);
}

static uint32_t add_factors(struct kp_build *build, const struct kp_term *term)
{
	uint32_t *words = calloc(term->count + 1, sizeof(*words));
	if (!words) {
		build->failed = true;
		return 0;
	}
	for (size_t i = 0; i < term->count; i++) {
		const struct kp_factor *factor = &term->factors[i];
		unsigned char record[KP_FACTOR_RECORD];
		kp_store_double(
			record + KP_FACTOR_NUMBER, factor->name ? 0 : factor->number);
		kp_store32(record + KP_FACTOR_NAME, kp_build_symbol(build, factor->name));
		words[i] = kp_build_shared(
			build, KP_SECTION_FACTORS, record, sizeof(record));
	}
	uint32_t list = kp_build_list(build, words, term->count);
	free(words);
	return list;
}

static void add_derived(struct kp_build *build, const struct kp_derived *derived)
{
	unsigned char record[KP_DERIVED_RECORD];

	kp_store32(record + KP_DERIVED_NAME, kp_build_symbol(build, derived->name));
	kp_store32(record + KP_DERIVED_TIMES, add_factors(build, &derived->times));
	kp_store32(record + KP_DERIVED_OVER, add_factors(build, &derived->over));
	kp_build_record(build, KP_SECTION_DERIVED, record, sizeof(record));
}

static uint32_t add_dims(struct kp_build *build, const struct kp_strings *dims)
{
	uint32_t words[KP_FAMILY_DIMS];
	size_t count = dims->count < KP_FAMILY_DIMS ? dims->count : KP_FAMILY_DIMS;

	for (size_t i = 0; i < count; i++)
		words[i] = kp_build_symbol(build, dims->items[i]);
	return kp_build_list(build, words, count);
}

static void store_range(unsigned char *at, unsigned first, size_t count)
{
	kp_store32(at, first);
	kp_store32(at + 4, (uint32_t)count);
}

static void add_family(struct kp_build *build, const struct kp_family *family)
{
	unsigned char record[KP_FAMILY_RECORD];

	kp_store32(record + KP_FAMILY_OPERATION, kp_build_text(build, family->operation));
	kp_store32(record + KP_FAMILY_SIGNATURE, kp_build_text(build, family->signature));
	kp_store32(record + KP_FAMILY_DIM_LIST, add_dims(build, &family->dims));
	kp_store32(record + KP_FAMILY_REVISION, family->revision);
	store_range(record + KP_FAMILY_ROLE_RANGE,
		first_of(build, KP_SECTION_ROLES, KP_ROLE_RECORD), family->n_roles);
	add_roles(build, family);
	store_range(record + KP_FAMILY_RULE_RANGE,
		first_of(build, KP_SECTION_RULES, KP_RULE_RECORD),
		family->n_traits + family->n_attributes);
	for (size_t i = 0; i < family->n_traits; i++)
		add_rule(build, &family->traits[i], 0);
	for (size_t i = 0; i < family->n_attributes; i++)
		add_attribute(build, &family->attributes[i]);
	store_range(record + KP_FAMILY_DERIVED_RANGE,
		first_of(build, KP_SECTION_DERIVED, KP_DERIVED_RECORD),
		family->n_derived);
	for (size_t i = 0; i < family->n_derived; i++)
		add_derived(build, &family->derived[i]);
	kp_build_record(build, KP_SECTION_FAMILIES, record, sizeof(record));
}

void kp_build_families(struct kp_build *build, const struct kp_families *families)
{
	for (size_t i = 0; i < families->count; i++)
		add_family(build, &families->items[i]);
}
