/* SPDX-License-Identifier: MIT */
/* Which signature of a kernel is meant by the dtype of one role. */
#include "lib/plugin/spec.h"

#include "lib/family/format.h"

static bool has_element(const char *text, const char *role, enum kp_element element)
{
	struct kp_signature signature;

	/* Texts of a spec are canonical: they have been read before. */
	if (kp_signature_parse(text, &signature, NULL) < 0)
		return false;
	const struct kp_operand *operand = kp_signature_find(&signature, role);
	return operand && operand->format.element == element;
}

static size_t next_match(const struct kp_spec *spec, size_t from, const char *role,
	enum kp_element element)
{
	while (from < spec->signatures.count &&
		!has_element(spec->signatures.items[from], role, element))
		from++;
	return from;
}

int kp_spec_signature(const struct kp_spec *spec, const char *role, const char *dtype,
	const char **signature, struct kp_diag *diag)
{
	enum kp_element element;
	const char *const *texts = spec->signatures.items;

	if (!kp_element_parse(dtype, &element))
		return kp_diag_set(
			diag, "bad_signature", role, "%s: unknown dtype %s", role, dtype);
	size_t first = next_match(spec, 0, role, element);
	if (first == spec->signatures.count)
		return kp_diag_set(diag, "no_signature", role,
			"%s has no signature with %s=%s", spec->name, role, dtype);
	size_t second = next_match(spec, first + 1, role, element);
	if (second < spec->signatures.count)
		return kp_diag_set(diag, "ambiguous_signature", role,
			"%s has multiple format signatures with %s=%s, such as %s and "
			"%s; name a whole one",
			spec->name, role, dtype, texts[first], texts[second]);
	*signature = texts[first];
	return 0;
}
