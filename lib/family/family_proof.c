/* SPDX-License-Identifier: MIT */
/* What bench and verify read of a family: shapes, the check, empty reductions. */
#include <stdio.h>
#include <string.h>

#include "lib/base/owned.h"
#include "lib/family/family_build.h"

static const struct kp_json_key check_keys[] = {
	{"kind", KP_JSON_STRING, true},
	{"tolerance", KP_JSON_OBJECT, false},
};
static const struct kp_json_key shapes_keys[] = {
	{"default", KP_JSON_ARRAY, false},
	{"edge", KP_JSON_ARRAY, false},
};

static int read_shape(struct kp_reading *reading, const json_t *value, const char *path)
{
	const struct kp_family *family = reading->family;
	struct kp_shape shape;
	struct kp_diag why;

	if (kp_shape_from_json(value, family, &shape, &why) < 0)
		return kp_diag_set(
			reading->diag, why.code, path, "%s: %s", path, why.message);
	for (size_t i = 0; i < family->dims.count; i++)
		if (kp_shape_get(&shape, family->dims.items[i]) < 0)
			return kp_reading_bad(reading, path, "the dim %s is missing",
				family->dims.items[i]);
	return 0;
}

int kp_reading_shapes(struct kp_reading *reading, const json_t *object)
{
	char path[KP_FAMILY_PATH];

	if (!object)
		return 0;
	if (kp_json_check(object, "shapes", shapes_keys, KP_COUNT(shapes_keys), NULL,
		    reading->diag) < 0)
		return -1;
	for (size_t k = 0; k < KP_COUNT(shapes_keys); k++) {
		const json_t *list = json_object_get(object, shapes_keys[k].name);
		for (size_t i = 0; i < json_array_size(list); i++) {
			(void)snprintf(path, sizeof(path), "shapes.%s[%zu]",
				shapes_keys[k].name, i);
			if (read_shape(reading, json_array_get(list, i), path) < 0)
				return -1;
		}
	}
	reading->family->shapes = object;
	return 0;
}

static int read_tolerance(struct kp_reading *reading, const json_t *object)
{
	char path[KP_FAMILY_PATH];
	void *at = json_object_iter((json_t *)(uintptr_t)object);

	for (; at; at = json_object_iter_next((json_t *)(uintptr_t)object, at)) {
		const json_t *value = json_object_iter_value(at);
		enum kp_element element;
		(void)snprintf(path, sizeof(path), "check.tolerance.%s",
			json_object_iter_key(at));
		if (!kp_element_parse(json_object_iter_key(at), &element))
			return kp_reading_bad(reading, path, "no dtype has this name");
		if (!json_is_number(value))
			return kp_json_wrong_type(
				reading->diag, path, value, KP_JSON_NUMBER);
		if (!(json_number_value(value) > 0))
			return kp_reading_bad(reading, path, "a tolerance is above 0");
	}
	reading->family->tolerance = object;
	return 0;
}

/* The check can judge every output in each format that it may have. */
static int check_coverage(struct kp_reading *reading)
{
	const struct kp_family *family = reading->family;

	for (size_t r = 0; r < family->n_roles; r++) {
		const struct kp_role *role = &family->roles[r];
		for (size_t f = 0; role->direction != KP_IN && f < role->formats.count;
			f++) {
			struct kp_format format;
			const char *name = NULL;
			if (kp_format_parse(role->formats.items[f], &format, NULL) == 0)
				name = kp_element_name(format.element);
			if (!name || !json_object_get(family->tolerance, name))
				return kp_reading_bad(reading, "check",
					"no tolerance for %s, which the output %s may "
					"have",
					name ? name : role->formats.items[f], role->name);
		}
	}
	return 0;
}

int kp_reading_check(struct kp_reading *reading, const json_t *object)
{
	static const char *const kinds[] = {"norm", "exact", "set"};
	const json_t *tolerance = json_object_get(object, "tolerance");
	const char *name = kp_json_text(object, "kind");
	size_t kind = 0;

	if (kp_json_check(object, "check", check_keys, KP_COUNT(check_keys), NULL,
		    reading->diag) < 0)
		return -1;
	while (kind < KP_COUNT(kinds) && strcmp(kinds[kind], name) != 0)
		kind++;
	if (kind == KP_COUNT(kinds))
		return kp_reading_bad(reading, "check.kind",
			"norm, exact or set expected, not %s", name);
	reading->family->check = (enum kp_check_kind)kind;
	if (kind != KP_CHECK_NORM)
		return tolerance ? kp_reading_bad(reading, "check.tolerance",
					   "a check %s has none", name)
				 : 0;
	return read_tolerance(reading, tolerance) < 0 ? -1 : check_coverage(reading);
}
