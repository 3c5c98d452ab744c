/* SPDX-License-Identifier: MIT */
/* Derived values, attributes and traits of a family. */
#include <stdio.h>
#include <string.h>

#include "lib/base/owned.h"
#include "lib/family/family_build.h"

static const struct kp_json_key derived_keys[] = {
	{"times", KP_JSON_ARRAY, true},
	{"over", KP_JSON_ARRAY, false},
};
static const struct kp_json_key attribute_keys[] = {
	{"name", KP_JSON_STRING, true},
	{"type", KP_JSON_STRING, true},
	{"default", KP_JSON_NUMBER | KP_JSON_BOOLEAN, true},
	{"revision", KP_JSON_INTEGER, false},
};
static const struct kp_json_key trait_keys[] = {
	{"kind", KP_JSON_STRING, true},
	{"default", KP_JSON_NUMBER | KP_JSON_BOOLEAN | KP_JSON_STRING, false},
	{"dim", KP_JSON_STRING, false},
	{"revision", KP_JSON_INTEGER, false},
};

/* Members of an object are names of the family's own: the rule of names holds. */
static int check_member(
	struct kp_reading *reading, const char *list, const char *name, char *path)
{
	json_t *text = json_string(name);
	if (!text)
		return kp_diag_no_memory(reading->diag);
	int rc = kp_reading_name(reading, text, list);
	json_decref(text);
	if (rc == 0)
		kp_reading_path(path, list, name);
	return rc;
}

static int read_derived(struct kp_reading *reading, const char *name, const json_t *value,
	struct kp_derived *derived)
{
	char path[KP_FAMILY_PATH];
	char where[KP_FAMILY_PATH];
	const struct kp_family *family = reading->family;

	if (check_member(reading, "derived", name, path) < 0 ||
		kp_json_check(value, path, derived_keys, KP_COUNT(derived_keys), NULL,
			reading->diag) < 0)
		return -1;
	for (size_t i = 0; i < family->dims.count; i++)
		if (strcmp(family->dims.items[i], name) == 0)
			return kp_reading_bad(reading, path, "a dim has this name");
	derived->name = name;
	if (kp_reading_term(reading, json_object_get(value, "times"),
		    kp_reading_path(where, path, "times"), false, &derived->times) < 0)
		return -1;
	const json_t *over = json_object_get(value, "over");
	return over ? kp_reading_term(reading, over, kp_reading_path(where, path, "over"),
			      false, &derived->over)
		    : 0;
}

int kp_reading_derived(struct kp_reading *reading, const json_t *object)
{
	size_t count = json_object_size(object);
	size_t n = 0;

	if (kp_reading_bounded(reading, "derived", count, KP_FAMILY_ITEMS) < 0)
		return -1;
	struct kp_derived *items = kp_reading_array(reading, count, sizeof(*items));
	if (!items)
		return -1;
	for (void *at = json_object_iter((json_t *)(uintptr_t)object); at;
		at = json_object_iter_next((json_t *)(uintptr_t)object, at))
		if (read_derived(reading, json_object_iter_key(at),
			    json_object_iter_value(at), &items[n++]) < 0)
			return -1;
	reading->family->derived = items;
	reading->family->n_derived = count;
	return 0;
}

static int read_preset(struct kp_reading *reading, const json_t *value, const char *path,
	struct kp_attribute *attribute)
{
	static const unsigned types[] = {
		[KP_ATTRIBUTE_INT] = KP_JSON_INTEGER,
		[KP_ATTRIBUTE_FLOAT] = KP_JSON_NUMBER,
		[KP_ATTRIBUTE_BOOL] = KP_JSON_BOOLEAN,
	};
	unsigned wanted = types[attribute->type];

	if (!(wanted & 1u << json_typeof(value)))
		return kp_json_wrong_type(reading->diag, path, value, wanted);
	attribute->preset =
		json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
	return 0;
}

static int read_attribute(struct kp_reading *reading, const json_t *value,
	const char *path, struct kp_attribute *attribute)
{
	static const char *const types[] = {"int", "float", "bool"};
	char where[KP_FAMILY_PATH];

	if (kp_json_check(value, path, attribute_keys, KP_COUNT(attribute_keys), NULL,
		    reading->diag) < 0 ||
		kp_reading_name(reading, json_object_get(value, "name"),
			kp_reading_path(where, path, "name")) < 0 ||
		kp_reading_revision(reading, value, path, &attribute->revision) < 0)
		return -1;
	attribute->name = kp_json_text(value, "name");
	size_t type = 0;
	while (type < KP_COUNT(types) &&
		strcmp(types[type], kp_json_text(value, "type")) != 0)
		type++;
	if (type == KP_COUNT(types))
		return kp_reading_bad(reading, kp_reading_path(where, path, "type"),
			"int, float or bool expected, not %s",
			kp_json_text(value, "type"));
	attribute->type = (enum kp_attribute_type)type;
	return read_preset(reading, json_object_get(value, "default"),
		kp_reading_path(where, path, "default"), attribute);
}

int kp_reading_attributes(struct kp_reading *reading, const json_t *list)
{
	char path[KP_FAMILY_PATH];
	size_t count = json_array_size(list);

	if (kp_reading_bounded(reading, "attributes", count, KP_FAMILY_ITEMS) < 0)
		return -1;
	struct kp_attribute *items = kp_reading_array(reading, count, sizeof(*items));
	if (!items)
		return -1;
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), "attributes[%zu]", i);
		if (read_attribute(reading, json_array_get(list, i), path, &items[i]) < 0)
			return -1;
		for (size_t j = 0; j < i; j++)
			if (strcmp(items[j].name, items[i].name) == 0)
				return kp_reading_bad(reading, path,
					"the attribute %s is there twice", items[i].name);
	}
	reading->family->attributes = items;
	reading->family->n_attributes = count;
	return 0;
}

static const struct trait_kind {
	const char *name;
	enum kp_scalar_kind kind;
	bool integer;
	unsigned types; /* of its default */
} trait_kinds[] = {
	{"int", KP_SCALAR_NUMBER, true, KP_JSON_INTEGER},
	{"number", KP_SCALAR_NUMBER, false, KP_JSON_NUMBER},
	{"bool", KP_SCALAR_BOOL, false, KP_JSON_BOOLEAN},
	{"text", KP_SCALAR_TEXT, false, KP_JSON_STRING},
};

static const struct trait_kind *find_kind(const char *name)
{
	for (size_t i = 0; i < KP_COUNT(trait_kinds); i++)
		if (strcmp(trait_kinds[i].name, name) == 0)
			return &trait_kinds[i];
	return NULL;
}

static int read_trait(struct kp_reading *reading, const char *name, const json_t *value,
	struct kp_trait_rule *rule)
{
	char path[KP_FAMILY_PATH];
	char where[KP_FAMILY_PATH];

	if (check_member(reading, "traits", name, path) < 0 ||
		kp_json_check(value, path, trait_keys, KP_COUNT(trait_keys), NULL,
			reading->diag) < 0 ||
		kp_reading_revision(reading, value, path, &rule->revision) < 0)
		return -1;
	const char *named = kp_json_text(value, "kind");
	const struct trait_kind *kind = find_kind(named);
	if (!kind)
		return kp_reading_bad(reading, path,
			"kind int, number, bool or text expected, not %s", named);
	const json_t *preset = json_object_get(value, "default");
	const json_t *dim = json_object_get(value, "dim");
	rule->name = name;
	rule->kind = kind->kind;
	rule->integer = kind->integer;
	rule->dim = json_string_value(dim);
	rule->has_preset = preset != NULL;
	if (preset && !(kind->types & 1u << json_typeof(preset)))
		return kp_json_wrong_type(reading->diag,
			kp_reading_path(where, path, "default"), preset, kind->types);
	if (preset && dim)
		return kp_reading_bad(reading, path,
			"a trait that is a dim has no default: the shape gives it");
	if (dim && kind->kind != KP_SCALAR_NUMBER)
		return kp_reading_bad(
			reading, path, "a dim is a number, not %s", kind->name);
	if (dim && kp_reading_quantity(
			   reading, dim, kp_reading_path(where, path, "dim"), true) < 0)
		return -1;
	return preset ? kp_scalar_from_json(preset,
				kp_reading_path(where, path, "default"), &rule->preset,
				reading->diag)
		      : 0;
}

int kp_reading_traits(struct kp_reading *reading, const json_t *object)
{
	size_t count = json_object_size(object);
	size_t n = 0;

	if (kp_reading_bounded(reading, "traits", count, KP_FAMILY_ITEMS) < 0)
		return -1;
	struct kp_trait_rule *items = kp_reading_array(reading, count, sizeof(*items));
	if (!items)
		return -1;
	for (void *at = json_object_iter((json_t *)(uintptr_t)object); at;
		at = json_object_iter_next((json_t *)(uintptr_t)object, at))
		if (read_trait(reading, json_object_iter_key(at),
			    json_object_iter_value(at), &items[n++]) < 0)
			return -1;
	reading->family->traits = items;
	reading->family->n_traits = count;
	return 0;
}
