/* SPDX-License-Identifier: MIT */
/*
 * The signature of a query: checked against the roles of the family, and reduced
 * to the key roles, which are what kernels are indexed by.
 */
#include <string.h>

#include "lib/base/text.h"
#include "lib/select/query.h"

/* One operand of a canonical text. */
struct operand {
	const char *text;
	size_t length;
	char role[72];
};

/* To the sign, a comma or the end: a dozen bytes, too few for strcspn. */
static size_t length_to(const char *text, char sign)
{
	size_t length = 0;
	while (text[length] && text[length] != ',' && text[length] != sign)
		length++;
	return length;
}

static bool next_operand(const char **at, struct operand *operand)
{
	if (!**at)
		return false;
	size_t role = length_to(*at, '=');
	operand->text = *at;
	operand->length = role + length_to(*at + role, ',');
	if (role >= sizeof(operand->role))
		role = sizeof(operand->role) - 1;
	memcpy(operand->role, *at, role);
	operand->role[role] = '\0';
	*at += operand->length;
	*at += **at == ',';
	return true;
}

static bool names_role(const char *signature, const char *role)
{
	struct operand operand;
	while (next_operand(&signature, &operand))
		if (kp_text_is(operand.role, role))
			return true;
	return false;
}

static bool is_demanded(const unsigned char *role)
{
	return (role[KP_ROLE_BITS] & (KP_ROLE_KEY | KP_ROLE_OPTIONAL)) == KP_ROLE_KEY;
}

/* `named`: a bit for each role of the family that the signature names, of the first 64.
 */
static int check_key_roles(struct kp_query *query, uint64_t named, struct kp_diag *diag)
{
	size_t first = kp_load32(query->family + KP_FAMILY_ROLE_RANGE);
	size_t count = kp_load32(query->family + KP_FAMILY_ROLE_RANGE + 4);

	for (size_t i = 0; i < count; i++) {
		const unsigned char *role =
			kp_table_record(query->table, KP_SECTION_ROLES, first + i);
		const char *name =
			kp_table_text(query->table, kp_load32(role + KP_ROLE_NAME));
		if (!is_demanded(role) || (i < 64 && named >> i & 1) ||
			(i >= 64 && names_role(query->signature, name)))
			continue;
		return kp_diag_set(diag, "missing_role", name,
			"the signature %s lacks the role %s", query->signature, name);
	}
	return 0;
}

/* Copies the operands of key roles to the buffer; remembers the latest role. */
static int reduce(struct kp_query *query, struct kp_diag *diag)
{
	const char *at = query->signature;
	size_t stride = kp_table_stride(query->table, KP_SECTION_ROLES);
	const unsigned char *first = kp_table_record(query->table, KP_SECTION_ROLES,
		kp_load32(query->family + KP_FAMILY_ROLE_RANGE));
	struct operand operand;
	uint64_t named = 0;
	size_t used = 0;

	while (next_operand(&at, &operand)) {
		const unsigned char *role =
			kp_family_role_record(query->table, query->family, operand.role);
		size_t i = role ? (size_t)(role - first) / stride : 64;
		named |= i < 64 ? (uint64_t)1 << i : 0;
		if (!role || !(role[KP_ROLE_BITS] & (KP_ROLE_KEY | KP_ROLE_OPTIONAL)))
			return kp_query_unknown_role(query->table, query->family,
				query->request->operation, operand.role, diag);
		unsigned revision = kp_load32(role + KP_ROLE_REVISION);
		if (revision > query->late_revision) {
			query->late_revision = revision;
			query->late_role = kp_table_text(
				query->table, kp_load32(role + KP_ROLE_NAME));
		}
		if (!(role[KP_ROLE_BITS] & KP_ROLE_KEY))
			continue;
		if (used + operand.length + 2 > sizeof(query->buffer))
			return kp_diag_set(diag, "bad_signature", query->signature,
				"the signature is too long");
		if (used > 0)
			query->buffer[used++] = ',';
		memcpy(query->buffer + used, operand.text, operand.length);
		used += operand.length;
	}
	query->buffer[used] = '\0';
	query->key_signature = query->buffer;
	return check_key_roles(query, named, diag);
}

int kp_query_signature(struct kp_query *query, struct kp_diag *diag)
{
	const char *operation = query->request->operation;

	query->signature = query->key_signature = query->late_role = NULL;
	query->late_revision = 1;
	query->entry = SIZE_MAX;
	query->entry_text = 0;
	if (query->request->any_signature)
		return 0;
	query->signature = query->request->signature;
	if (!query->signature && query->family)
		query->signature = kp_table_text_or_null(
			query->table, kp_load32(query->family + KP_FAMILY_SIGNATURE));
	if (!query->signature)
		return kp_diag_set(diag, "no_signature", operation,
			"%s has no default signature: the request must have one",
			operation);
	query->key_signature = query->signature;
	if (query->family && reduce(query, diag) < 0)
		return -1;
	query->entry = kp_table_signature(query->table, operation, query->key_signature);
	if (query->entry != SIZE_MAX)
		query->entry_text =
			kp_load32(kp_table_record(query->table, KP_SECTION_SIGNATURES,
					  query->entry) +
				  KP_SIGNATURE_TEXT);
	return 0;
}
