/* SPDX-License-Identifier: MIT */
/* Families in memory: looked up, and signatures held against them. */
#include "lib/family/family.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/text.h"

bool kp_family_format(const struct kp_role *role, const struct kp_signature *signature,
	struct kp_format *format)
{
	const struct kp_operand *operand = kp_signature_find(signature, role->name);

	if (operand) {
		*format = operand->format;
		return true;
	}
	return !role->optional && role->formats.count > 0 &&
	       kp_format_parse(role->formats.items[0], format, NULL) == 0;
}

const struct kp_role *kp_family_role(const struct kp_family *family, const char *name)
{
	for (size_t i = 0; i < family->n_roles; i++)
		if (strcmp(family->roles[i].name, name) == 0)
			return &family->roles[i];
	return NULL;
}

const struct kp_trait_rule *kp_family_trait(
	const struct kp_family *family, const char *name)
{
	for (size_t i = 0; i < family->n_traits; i++)
		if (strcmp(family->traits[i].name, name) == 0)
			return &family->traits[i];
	return NULL;
}

const struct kp_family *kp_families_find(
	const struct kp_families *families, const char *operation)
{
	size_t low = 0;
	size_t high = families->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(families->items[middle].operation, operation);
		if (order == 0)
			return &families->items[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const char *kp_families_nearest(const struct kp_families *families, const char *operation)
{
	const char **names = calloc(families->count + 1, sizeof(*names));

	if (!names)
		return NULL;
	for (size_t i = 0; i < families->count; i++)
		names[i] = families->items[i].operation;
	const char *nearest = kp_text_nearest(operation, names, families->count);
	free(names);
	return nearest;
}

void kp_family_finish(struct kp_family *family)
{
	if (!family)
		return;
	kp_arena_free(family->memory);
	json_decref(family->root);
	*family = (struct kp_family){0};
}

void kp_families_finish(struct kp_families *families)
{
	if (!families)
		return;
	for (size_t i = 0; i < families->count; i++)
		kp_family_finish(&families->items[i]);
	free(families->items);
	*families = (struct kp_families){0};
}

/* ---- signatures --------------------------------------------------------------- */

static int unknown_role(
	const struct kp_family *family, const char *name, struct kp_diag *diag)
{
	const char *names[KP_FAMILY_ROLES];
	char offer[KP_TEXT_OFFER];
	size_t count = 0;

	if (kp_family_role(family, name))
		return kp_diag_set(diag, "unknown_role", name,
			"the role %s of %s is no part of its signature", name,
			family->operation);
	for (size_t i = 0; i < family->n_roles; i++)
		if (family->roles[i].key)
			names[count++] = family->roles[i].name;
	return kp_diag_set(diag, "unknown_role", name, "%s has no role %s%s",
		family->operation, name,
		kp_text_offer(name, names, count, "it has", offer));
}

static int check_operand(const struct kp_family *family, const struct kp_operand *operand,
	struct kp_diag *diag)
{
	const struct kp_role *role = kp_family_role(family, operand->role);
	char text[KP_SIGNATURE_BYTES];
	char allowed[256] = "";
	size_t used = 0;

	if (!role || !role->key)
		return unknown_role(family, operand->role, diag);
	kp_format_print(&operand->format, text, sizeof(text));
	for (size_t i = 0; i < role->formats.count; i++) {
		const char *format = role->formats.items[i];
		size_t length = strlen(format);
		if (strcmp(format, text) == 0)
			return 0;
		if (used + length + 3 < sizeof(allowed)) {
			memcpy(allowed + used, i ? ", " : "", i ? 2 : 0);
			used += i ? 2 : 0;
			memcpy(allowed + used, format, length + 1);
			used += length;
		}
	}
	return kp_diag_set(diag, "format_not_allowed", operand->role,
		"%s: %s is no format of this role in %s; it has %s", operand->role, text,
		family->operation, allowed);
}

int kp_family_check_signature(const struct kp_family *family,
	const struct kp_signature *signature, struct kp_diag *diag)
{
	for (size_t i = 0; i < signature->count; i++)
		if (check_operand(family, &signature->operands[i], diag) < 0)
			return -1;
	for (size_t i = 0; i < family->n_roles; i++) {
		const struct kp_role *role = &family->roles[i];
		if (role->key && !role->optional &&
			!kp_signature_find(signature, role->name))
			return kp_diag_set(diag, "missing_role", role->name,
				"the signature lacks the role %s of %s", role->name,
				family->operation);
	}
	return 0;
}
