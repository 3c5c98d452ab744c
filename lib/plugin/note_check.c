/* SPDX-License-Identifier: MIT */
/* Signatures, traits, priorities and revisions of a note's kernels. */
#include "lib/plugin/note_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"

enum { PATH_BYTES = 160, NAMES_OFFERED = 128 };

/* One kernel under check. */
struct subject {
	const struct kp_family *family;
	const struct kp_spec *spec;
	size_t index;
	struct kp_diag *diag;
};

static int at_kernel(const struct subject *subject, const char *member)
{
	char path[PATH_BYTES];
	char message[sizeof(subject->diag->message)];

	if (!subject->diag)
		return -1;
	(void)snprintf(path, sizeof(path), "kernels[%zu].%s", subject->index, member);
	memcpy(message, subject->diag->message, sizeof(message));
	return kp_diag_set(subject->diag, subject->diag->code, path, "kernel %s: %.600s",
		subject->spec->name, message);
}

static int check_signatures(const struct subject *subject, struct kp_signature *signature)
{
	char member[40];

	for (size_t i = 0; i < subject->spec->signatures.count; i++) {
		(void)snprintf(member, sizeof(member), "signatures[%zu]", i);
		if (kp_signature_parse(subject->spec->signatures.items[i], signature,
			    subject->diag) < 0 ||
			kp_family_check_signature(
				subject->family, signature, subject->diag) < 0)
			return at_kernel(subject, member);
	}
	return 0;
}

static size_t add_names(const struct kp_family *family, const char **names)
{
	size_t n = 0;

	for (size_t i = 0; i < family->n_traits && n < NAMES_OFFERED; i++)
		names[n++] = family->traits[i].name;
	for (size_t i = 0; i < family->n_attributes && n < NAMES_OFFERED; i++)
		names[n++] = family->attributes[i].name;
	for (size_t i = 0; i < family->n_derived && n < NAMES_OFFERED; i++)
		names[n++] = family->derived[i].name;
	for (size_t i = 0; i < family->dims.count && n < NAMES_OFFERED; i++)
		names[n++] = family->dims.items[i];
	return n;
}

/* The kind of a name's values; false: the family does not know it. */
static bool kind_of(
	const struct kp_family *family, const char *name, enum kp_scalar_kind *kind)
{
	const struct kp_trait_rule *rule = kp_family_trait(family, name);
	const char *names[NAMES_OFFERED];

	*kind = rule ? rule->kind : KP_SCALAR_NUMBER;
	if (rule)
		return true;
	for (size_t i = 0; i < family->n_attributes; i++) {
		if (strcmp(family->attributes[i].name, name) != 0)
			continue;
		if (family->attributes[i].type == KP_ATTRIBUTE_BOOL)
			*kind = KP_SCALAR_BOOL;
		return true;
	}
	size_t n = add_names(family, names);
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static int check_trait(const struct subject *subject, const struct kp_trait *trait)
{
	const char *names[NAMES_OFFERED];
	char offer[KP_TEXT_OFFER];
	char member[100];
	enum kp_scalar_kind kind;

	(void)snprintf(member, sizeof(member), "traits.%s", trait->name);
	if (!kind_of(subject->family, trait->name, &kind)) {
		kp_diag_set(subject->diag, "unknown_trait", NULL, "%s has no trait %s%s",
			subject->family->operation, trait->name,
			kp_text_offer(trait->name, names,
				add_names(subject->family, names), "it has", offer));
		return at_kernel(subject, member);
	}
	bool bounded = trait->has_min || trait->has_max || trait->has_multiple;
	if ((trait->n_in > 0 && trait->in[0].kind != kind) ||
		(bounded && kind != KP_SCALAR_NUMBER)) {
		kp_diag_set(subject->diag, "bad_trait", NULL,
			"the values of %s are %s in %s", trait->name,
			kind == KP_SCALAR_NUMBER ? "numbers"
			: kind == KP_SCALAR_BOOL ? "true or false"
						 : "texts",
			subject->family->operation);
		return at_kernel(subject, member);
	}
	return 0;
}

static int check_priority(const struct subject *subject, int offset)
{
	int priority = subject->spec->priority + offset;

	if (priority >= 0 && priority < KP_PRIORITY_END)
		return 0;
	kp_diag_set(subject->diag, "bad_priority_offset", NULL,
		"priority %d with the manifest's priority_offset %d is %d, outside 0 to "
		"%d",
		subject->spec->priority, offset, priority, KP_PRIORITY_END - 1);
	return at_kernel(subject, "priority");
}

static int check_kernel(
	const struct subject *subject, int offset, struct kp_signature *signature)
{
	if (check_priority(subject, offset) < 0)
		return -1;
	if (!subject->family)
		return 0;
	if (check_signatures(subject, signature) < 0)
		return -1;
	for (size_t t = 0; t < subject->spec->n_traits; t++)
		if (check_trait(subject, &subject->spec->traits[t]) < 0)
			return -1;
	return 0;
}

/* Its own operation, or a slip of the pen: then no request ever reaches it. */
static void warn_unknown(const struct kp_spec *spec, const char *path,
	const struct kp_families *families, struct kp_diags *warnings)
{
	const char *nearest = kp_families_nearest(families, spec->operation);
	struct kp_diag diag;

	if (nearest)
		kp_diag_set(&diag, "unknown_family", path,
			"kernel %s: no family describes %s; did you mean %s?", spec->name,
			spec->operation, nearest);
	else
		kp_diag_set(&diag, "unknown_family", path,
			"kernel %s: no family describes %s; only a request with the "
			"exact signature selects it",
			spec->name, spec->operation);
	kp_diags_add(warnings, &diag);
}

static void warn(const struct subject *subject, const struct kp_families *families,
	struct kp_diags *warnings)
{
	const struct kp_spec *spec = subject->spec;
	const struct kp_family *family = subject->family;
	struct kp_diag diag;
	char path[PATH_BYTES];

	(void)snprintf(path, sizeof(path), "kernels[%zu].%s", subject->index,
		family ? "revision" : "operation");
	if (!family) {
		warn_unknown(spec, path, families, warnings);
	} else if (spec->revision > family->revision) {
		kp_diag_set(&diag, "newer_revision", path,
			"kernel %s: written for revision %u of %s, known here is %u",
			spec->name, spec->revision, spec->operation, family->revision);
		kp_diags_add(warnings, &diag);
	}
}

int kp_note_check(struct kp_note *note, const struct kp_families *families, int offset,
	struct kp_diags *warnings, struct kp_diag *diag)
{
	/* Large: about 10 KiB. */
	struct kp_signature *signature = malloc(sizeof(*signature));
	int result = 0;

	if (!signature)
		return kp_diag_no_memory(diag);
	for (size_t i = 0; i < note->n_kernels && result == 0; i++) {
		struct kp_spec *spec = &note->kernels[i];
		struct subject subject = {
			kp_families_find(families, spec->operation), spec, i, diag};
		result = check_kernel(&subject, offset, signature);
		if (result == 0)
			warn(&subject, families, warnings);
	}
	free(signature);
	for (size_t i = 0; i < note->n_kernels && result == 0; i++)
		note->kernels[i].priority += offset;
	return result;
}
