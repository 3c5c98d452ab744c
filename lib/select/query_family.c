/* SPDX-License-Identifier: MIT */
/* What a family of a table knows by name, and what somebody may have meant. */
#include <string.h>

#include "lib/base/text.h"
#include "lib/select/query.h"

enum { NAMES_OFFERED = 160 };

struct names {
	const char *items[NAMES_OFFERED];
	size_t count;
};

struct range {
	size_t first, end;
};

static struct range range_of(const unsigned char *family, unsigned field)
{
	size_t first = kp_load32(family + field);
	return (struct range){first, first + kp_load32(family + field + 4)};
}

static const char *name_at(
	const struct kp_table *table, enum kp_section section, size_t i, unsigned field)
{
	return kp_table_text(
		table, kp_load32(kp_table_record(table, section, i) + field));
}

const unsigned char *kp_query_rule(
	const struct kp_table *table, const unsigned char *family, const char *name)
{
	if (!family)
		return NULL;
	struct range range = range_of(family, KP_FAMILY_RULE_RANGE);
	for (size_t i = range.first; i < range.end; i++)
		if (kp_text_is(name_at(table, KP_SECTION_RULES, i, KP_RULE_NAME), name))
			return kp_table_record(table, KP_SECTION_RULES, i);
	return NULL;
}

bool kp_query_is_dim(
	const struct kp_table *table, const unsigned char *family, const char *name)
{
	if (!family)
		return false;
	struct kp_list dims =
		kp_table_list(table, kp_load32(family + KP_FAMILY_DIM_LIST));
	for (size_t i = 0; i < dims.count; i++)
		if (kp_text_is(kp_table_text(table, kp_list_get(dims, i)), name))
			return true;
	return false;
}

static bool is_derived(
	const struct kp_table *table, const unsigned char *family, const char *name)
{
	if (!family)
		return false;
	struct range range = range_of(family, KP_FAMILY_DERIVED_RANGE);
	for (size_t i = range.first; i < range.end; i++)
		if (kp_text_is(
			    name_at(table, KP_SECTION_DERIVED, i, KP_DERIVED_NAME), name))
			return true;
	return false;
}

static void offer(struct names *names, const char *name)
{
	if (names->count < NAMES_OFFERED)
		names->items[names->count++] = name;
}

static void offer_range(struct names *names, const struct kp_table *table,
	struct range range, enum kp_section section, unsigned field)
{
	for (size_t i = range.first; i < range.end; i++)
		offer(names, name_at(table, section, i, field));
}

static void offer_dims(
	struct names *names, const struct kp_table *table, const unsigned char *family)
{
	struct kp_list dims =
		kp_table_list(table, kp_load32(family + KP_FAMILY_DIM_LIST));
	for (size_t i = 0; i < dims.count; i++)
		offer(names, kp_table_text(table, kp_list_get(dims, i)));
}

/* "gemm/mm has no dim q; it has m, n, k". */
static int unknown(const char *code, const char *kind, const struct names *names,
	const char *operation, const char *name, struct kp_diag *diag)
{
	char offer[KP_TEXT_OFFER];

	return kp_diag_set(diag, code, name, "%s has no %s %s%s", operation, kind, name,
		kp_text_offer(name, names->items, names->count, "it has", offer));
}

int kp_query_check_trait(const struct kp_table *table, const unsigned char *family,
	const char *operation, const char *name, struct kp_diag *diag)
{
	struct names names = {.count = 0};

	if (!family || kp_query_rule(table, family, name) ||
		kp_query_is_dim(table, family, name) || is_derived(table, family, name))
		return 0;
	offer_range(&names, table, range_of(family, KP_FAMILY_RULE_RANGE),
		KP_SECTION_RULES, KP_RULE_NAME);
	offer_dims(&names, table, family);
	offer_range(&names, table, range_of(family, KP_FAMILY_DERIVED_RANGE),
		KP_SECTION_DERIVED, KP_DERIVED_NAME);
	return unknown("unknown_trait", "trait", &names, operation, name, diag);
}

int kp_query_unknown_dim(const struct kp_table *table, const unsigned char *family,
	const char *operation, const char *name, struct kp_diag *diag)
{
	struct names names = {.count = 0};

	offer_dims(&names, table, family);
	return unknown("unknown_dim", "dim", &names, operation, name, diag);
}

/* Others than these are no part of a signature. */
int kp_query_unknown_role(const struct kp_table *table, const unsigned char *family,
	const char *operation, const char *name, struct kp_diag *diag)
{
	struct names names = {.count = 0};
	struct range range = range_of(family, KP_FAMILY_ROLE_RANGE);

	for (size_t i = range.first; i < range.end; i++)
		if (kp_table_record(table, KP_SECTION_ROLES, i)[KP_ROLE_BITS] &
			(KP_ROLE_KEY | KP_ROLE_OPTIONAL))
			offer(&names, name_at(table, KP_SECTION_ROLES, i, KP_ROLE_NAME));
	return unknown("unknown_role", "role", &names, operation, name, diag);
}
