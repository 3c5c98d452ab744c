/* SPDX-License-Identifier: MIT */
/* Does the kernel accept the values of traits, dims and derived values? */
#include <stdio.h>

#include "lib/base/text.h"
#include "lib/select/predicate.h"

/* As kp_trait_accepts, on records: the same answers without decoding. */
static bool is_in(const struct kp_query *query, const unsigned char *trait,
	const struct kp_query_value *value)
{
	struct kp_list in = kp_table_list(query->table, kp_load32(trait + KP_TRAIT_IN));

	for (size_t i = 0; i < in.count; i++) {
		const unsigned char *scalar = kp_table_record(
			query->table, KP_SECTION_SCALARS, kp_list_get(in, i));
		if ((enum kp_scalar_kind)scalar[KP_SCALAR_KIND] != value->kind)
			continue;
		if (value->kind == KP_SCALAR_TEXT
				? value->text &&
					  value->text ==
						  kp_load32(scalar + KP_SCALAR_STRING)
				: value->number ==
					  kp_load_double(scalar + KP_SCALAR_VALUE))
			return true;
	}
	return in.count == 0;
}

static bool accepts(const struct kp_query *query, const unsigned char *trait,
	const struct kp_query_value *value)
{
	unsigned bits = trait[KP_TRAIT_BITS];

	if (!is_in(query, trait, value))
		return false;
	if (!(bits & (KP_TRAIT_HAS_MIN | KP_TRAIT_HAS_MAX | KP_TRAIT_HAS_MULTIPLE)))
		return true;
	if (value->kind != KP_SCALAR_NUMBER)
		return false;
	if (bits & KP_TRAIT_HAS_MIN &&
		value->number < kp_load_double(trait + KP_TRAIT_MIN))
		return false;
	if (bits & KP_TRAIT_HAS_MAX &&
		value->number > kp_load_double(trait + KP_TRAIT_MAX))
		return false;
	return !(bits & KP_TRAIT_HAS_MULTIPLE) ||
	       kp_scalar_is_multiple(
		       value->number, kp_load_double(trait + KP_TRAIT_MULTIPLE));
}

static const struct kp_query_trait *given(const struct kp_query *query, uint32_t name)
{
	for (size_t i = 0; i < query->n_traits; i++)
		if (query->traits[i].name == name)
			return &query->traits[i];
	return NULL;
}

static const char *value_text(const struct kp_query_value *value, char *text, size_t size)
{
	struct kp_scalar scalar = {value->kind, value->number, value->string};
	return kp_scalar_print(&scalar, text, size);
}

/* "head_dim = 64" or "head_dim = {64, 128}". */
static void print_values(const struct kp_query *query, const struct kp_query_trait *trait,
	char *text, size_t size)
{
	char value[80];
	bool set = trait->count > 1;
	size_t used = kp_text_add(text, size, 0, "%s = %s", trait->text, set ? "{" : "");

	for (size_t i = 0; i < trait->count; i++)
		used = kp_text_add(text, size, used, "%s%s", i ? ", " : "",
			value_text(
				&query->values[trait->first + i], value, sizeof(value)));
	if (set)
		kp_text_add(text, size, used, "}");
}

/* "head_dim in {64, 128}" from the record. */
static void print_trait(const struct kp_query *query, const unsigned char *record,
	char *text, size_t size)
{
	struct kp_scalar values[16];
	struct kp_trait trait;
	char printed[200];
	size_t count = kp_table_trait(query->table, record, values, 16, &trait);

	(void)snprintf(text, size, "%s %s%s", trait.name,
		kp_trait_print(&trait, printed, sizeof(printed)),
		count > trait.n_in ? " and more" : "");
}

static bool all_accepted(const struct kp_query *query, const unsigned char *record,
	const struct kp_query_trait *trait)
{
	for (size_t i = 0; i < trait->count; i++)
		if (!accepts(query, record, &query->values[trait->first + i]))
			return false;
	return true;
}

/* One trait that the kernel declares. */
static bool check_declared(const struct kp_query *query, const unsigned char *record,
	struct kp_exclusions *out)
{
	const struct kp_query_trait *trait =
		given(query, kp_load32(record + KP_TRAIT_NAME));
	struct kp_exclusion *e;

	if (!trait) {
		/* A listing of kernels asks for nothing, and gives nothing. */
		if (!(record[KP_TRAIT_BITS] & KP_TRAIT_REQUIRED) ||
			query->request->any_signature)
			return true;
		e = kp_exclude(out, "trait_required", "kernel");
		if (e) {
			print_trait(query, record, e->required, sizeof(e->required));
			(void)snprintf(e->actual, sizeof(e->actual), "not given");
		}
		return false;
	}
	if (all_accepted(query, record, trait))
		return true;
	e = kp_exclude(out, trait->origin == KP_FROM_SHAPE ? "shape" : "trait", "kernel");
	if (e) {
		print_trait(query, record, e->required, sizeof(e->required));
		print_values(query, trait, e->actual, sizeof(e->actual));
	}
	return false;
}

static bool declares(const struct kp_query *query, struct kp_list traits, uint32_t name)
{
	for (size_t i = 0; i < traits.count; i++) {
		const unsigned char *record = kp_table_record(
			query->table, KP_SECTION_TRAITS, kp_list_get(traits, i));
		if (name && kp_load32(record + KP_TRAIT_NAME) == name)
			return true;
	}
	return false;
}

static void explain_default(const struct kp_query *query,
	const struct kp_query_trait *trait, struct kp_exclusions *out)
{
	struct kp_exclusion *e = kp_exclude(out, "trait", "family");
	struct kp_scalar preset;
	char text[80];

	if (!e)
		return;
	kp_table_scalar(
		query->table, kp_load32(trait->rule + KP_RULE_PRESET) - 1, &preset);
	(void)snprintf(e->required, sizeof(e->required),
		"%s = %s, the default: the kernel does not declare it", trait->text,
		kp_scalar_print(&preset, text, sizeof(text)));
	print_values(query, trait, e->actual, sizeof(e->actual));
}

bool kp_predicate_traits(const struct kp_query *query, struct kp_subject *subject,
	struct kp_exclusions *out)
{
	struct kp_list traits = kp_table_list(
		query->table, kp_load32(subject->kernel + KP_KERNEL_TRAITS));
	bool passes = true;

	for (size_t i = 0; i < traits.count && (passes || out); i++)
		passes &= check_declared(query,
			kp_table_record(
				query->table, KP_SECTION_TRAITS, kp_list_get(traits, i)),
			out);
	for (size_t i = 0; i < query->n_traits && (passes || out); i++) {
		const struct kp_query_trait *trait = &query->traits[i];
		/* Attributes are arguments of every kernel, whatever their value. */
		if (!trait->deviates ||
			kp_query_rule_is(trait->rule, KP_RULE_ATTRIBUTE) ||
			declares(query, traits, trait->name))
			continue;
		passes = false;
		explain_default(query, trait, out);
	}
	return passes;
}

static void explain_revision(unsigned needed, const char *kind, const char *name,
	unsigned revision, struct kp_exclusions *out)
{
	struct kp_exclusion *e = kp_exclude(out, "family_revision", "family");
	if (!e)
		return;
	(void)snprintf(e->required, sizeof(e->required),
		"revision %u, which brought the %s %s", needed, kind, name);
	(void)snprintf(e->actual, sizeof(e->actual), "revision %u", revision);
}

/* Roles of a revision after the one the kernel was written for: it knows none. */
bool kp_predicate_role(const struct kp_query *query, struct kp_subject *subject,
	struct kp_exclusions *out)
{
	unsigned revision = kp_load32(subject->profile + KP_PROFILE_REVISION);

	if (!query->late_role || query->late_revision <= revision)
		return true;
	explain_revision(query->late_revision, "role", query->late_role, revision, out);
	return false;
}

/* The same for attributes and traits that are not at their default. */
bool kp_predicate_revision(const struct kp_query *query, struct kp_subject *subject,
	struct kp_exclusions *out)
{
	unsigned revision = kp_load32(subject->profile + KP_PROFILE_REVISION);
	bool passes = true;

	for (size_t i = 0; i < query->n_traits && (passes || out); i++) {
		const struct kp_query_trait *trait = &query->traits[i];
		unsigned needed =
			trait->deviates ? kp_load32(trait->rule + KP_RULE_REVISION) : 0;
		if (needed <= revision)
			continue;
		passes = false;
		explain_revision(needed,
			kp_query_rule_is(trait->rule, KP_RULE_ATTRIBUTE) ? "attribute"
									 : "trait",
			trait->text, revision, out);
	}
	return passes;
}
