/* SPDX-License-Identifier: MIT */
/* A value by its kind: of an attribute for calls, of an attribute or trait for requests.
 */
#include "lib/host/named.h"

#include <string.h>

static json_t *value_json(const struct kp_named *named)
{
	switch (named->kind) {
	case 'i':
		return json_integer(named->value.i);
	case 'f':
		return json_real(named->value.f);
	case 's':
		return named->value.s ? json_string(named->value.s) : NULL;
	case 'b':
		return json_boolean(named->value.i != 0);
	default:
		return NULL;
	}
}

static int wrong_kind(
	const struct kp_named *named, const char *wanted, struct kp_diag *diag)
{
	return kp_diag_set(diag, "bad_trait", named->name,
		"the attribute %s is %s, the site gives kind '%c'", named->name, wanted,
		named->kind);
}

static int set_attribute(union kp_value *value, const struct kp_attribute *attribute,
	const struct kp_named *named, struct kp_diag *diag)
{
	switch (attribute->type) {
	case KP_ATTRIBUTE_FLOAT:
		if (named->kind != 'f' && named->kind != 'i')
			return wrong_kind(named, "a float ('f')", diag);
		value->f = named->kind == 'f' ? named->value.f : (double)named->value.i;
		return 0;
	case KP_ATTRIBUTE_INT:
		if (named->kind != 'i')
			return wrong_kind(named, "an int ('i')", diag);
		value->i = named->value.i;
		return 0;
	case KP_ATTRIBUTE_BOOL:
		if (named->kind != 'b')
			return wrong_kind(named, "a bool ('b')", diag);
		value->i = named->value.i != 0;
		return 0;
	}
	return 0;
}

static void set_presets(struct kp_inner_site *site, const struct kp_family *family)
{
	for (size_t i = 0; i < family->n_attributes && i < KP_SITE_ATTRIBUTES; i++) {
		const struct kp_attribute *attribute = &family->attributes[i];
		if (attribute->type == KP_ATTRIBUTE_FLOAT)
			site->attributes[i].f = attribute->preset;
		else
			site->attributes[i].i = (int64_t)attribute->preset;
		site->n_attributes++;
	}
}

static int set_if_attribute(struct kp_inner_site *site, const struct kp_family *family,
	const struct kp_named *named, struct kp_diag *diag)
{
	for (size_t i = 0; i < site->n_attributes; i++)
		if (strcmp(family->attributes[i].name, named->name) == 0)
			return set_attribute(&site->attributes[i], &family->attributes[i],
				named, diag);
	return 0;
}

static int add(struct kp_inner_site *site, json_t *traits, const struct kp_named *named,
	struct kp_diag *diag)
{
	json_t *value = named->name ? value_json(named) : NULL;

	if (!value)
		return kp_diag_set(diag, "bad_trait", named->name,
			"the site's value %s has no name, no text or kind '%c'; kinds "
			"are i, f, s and b",
			named->name ? named->name : "", named->kind ? named->kind : ' ');
	if (json_object_set_new(traits, named->name, value) < 0)
		return kp_diag_no_memory(diag);
	if (!site->contract->described)
		return 0;
	return set_if_attribute(site, &site->contract->family, named, diag);
}

json_t *kp_named_json(struct kp_inner_site *site, const struct kp_site_options *options,
	struct kp_diag *diag)
{
	json_t *traits = json_object();

	if (!traits) {
		kp_diag_no_memory(diag);
		return NULL;
	}
	if (site->contract->described)
		set_presets(site, &site->contract->family);
	for (uint32_t i = 0; i < options->n_values; i++)
		if (add(site, traits, &options->values[i], diag) < 0) {
			json_decref(traits);
			return NULL;
		}
	return traits;
}
