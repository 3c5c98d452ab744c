/* SPDX-License-Identifier: MIT */
/* Named extents, and what they come to: values, derived values and work. */
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/text.h"
#include "lib/family/family.h"

static const json_int_t extent_most = (json_int_t)1 << 40;

int64_t kp_shape_get(const struct kp_shape *shape, const char *name)
{
	for (size_t i = 0; i < shape->count; i++)
		if (kp_text_is(shape->dims[i].name, name))
			return shape->dims[i].extent;
	return -1;
}

bool kp_shape_set(struct kp_shape *shape, const char *name, int64_t extent)
{
	size_t i = 0;
	while (i < shape->count && strcmp(shape->dims[i].name, name) != 0)
		i++;
	if (i == KP_FAMILY_DIMS)
		return false;
	if (i == shape->count) {
		shape->dims[i].name = name;
		shape->count++;
	}
	shape->dims[i].extent = extent;
	return true;
}

/* The family's own text of the name, so that it lives as long as the family. */
static const char *find_dim(const struct kp_family *family, const char *name)
{
	const char *other = json_string_value(json_object_get(family->aliases, name));

	name = other ? other : name;
	for (size_t i = 0; i < family->dims.count; i++)
		if (kp_text_is(family->dims.items[i], name))
			return family->dims.items[i];
	return NULL;
}

static int unknown_dim(
	const struct kp_family *family, const char *name, struct kp_diag *diag)
{
	char offer[KP_TEXT_OFFER];

	return kp_diag_set(diag, "unknown_dim", name, "%s has no dim %s%s",
		family->operation, name,
		kp_text_offer(
			name, family->dims.items, family->dims.count, "it has", offer));
}

static int read_extent(const char *name, const json_t *value,
	const struct kp_family *family, struct kp_shape *shape, struct kp_diag *diag)
{
	const char *dim = name;

	if (family && !(dim = find_dim(family, name)))
		return unknown_dim(family, name, diag);
	if (!json_is_integer(value))
		return kp_json_wrong_type(diag, name, value, KP_JSON_INTEGER);
	json_int_t extent = json_integer_value(value);
	if (extent < 0 || extent > extent_most)
		return kp_diag_set(diag, "bad_extent", name,
			"%s: %lld is no extent, 0 to %lld expected", name,
			(long long)extent, (long long)extent_most);
	if (kp_shape_get(shape, dim) >= 0)
		return kp_diag_set(diag, "repeated_dim", name,
			"%s: the shape says %s twice, by another name", name, dim);
	if (!kp_shape_set(shape, dim, extent))
		return kp_diag_set(diag, "bad_extent", name, "%s: more than %d dims",
			name, KP_FAMILY_DIMS);
	return 0;
}

/* A dim that nobody spoke of, where the family says what it is then. */
static void add_default(
	const struct kp_family *family, const char *dim, struct kp_shape *shape)
{
	const json_t *preset = json_object_get(family->defaults, dim);
	int64_t extent = json_is_string(preset)
				 ? kp_shape_get(shape, json_string_value(preset))
			 : json_is_integer(preset) ? json_integer_value(preset)
						   : -1;

	if (extent >= 0 && kp_shape_get(shape, dim) < 0)
		(void)kp_shape_set(shape, dim, extent);
}

int kp_shape_from_json(const json_t *value, const struct kp_family *family,
	struct kp_shape *shape, struct kp_diag *diag)
{
	struct kp_shape made = {0};
	json_t *object = (json_t *)(uintptr_t)value; /* jansson iterates non-const only */

	if (!json_is_object(value))
		return kp_json_wrong_type(diag, "shape", value, KP_JSON_OBJECT);
	int rc = 0;
	for (void *at = json_object_iter(object); at && rc == 0;
		at = json_object_iter_next(object, at))
		rc = read_extent(json_object_iter_key(at), json_object_iter_value(at),
			family, &made, diag);
	for (size_t i = 0; rc == 0 && family && i < family->dims.count; i++)
		add_default(family, family->dims.items[i], &made);
	if (rc == 0)
		*shape = made;
	return rc;
}

json_t *kp_shape_json(const struct kp_shape *shape)
{
	json_t *object = json_object();

	for (size_t i = 0; object && i < shape->count; i++)
		object =
			kp_json_merge(object, json_pack("{s:I}", shape->dims[i].name,
						      (json_int_t)shape->dims[i].extent));
	return object;
}

/* ---- values ----------------------------------------------------------------- */

static bool product(const struct kp_family *family, const struct kp_shape *shape,
	const struct kp_term *term, double *value);

static bool derived_value(const struct kp_family *family, const struct kp_shape *shape,
	const struct kp_derived *derived, double *value)
{
	double times;
	double over;
	if (!product(family, shape, &derived->times, &times) ||
		!product(family, shape, &derived->over, &over) || over == 0)
		return false;
	*value = times / over;
	return true;
}

bool kp_family_value(const struct kp_family *family, const struct kp_shape *shape,
	const char *name, double *value)
{
	int64_t extent = kp_shape_get(shape, name);
	if (extent >= 0) {
		*value = (double)extent;
		return true;
	}
	for (size_t i = 0; i < family->n_derived; i++)
		if (kp_text_is(family->derived[i].name, name))
			return derived_value(family, shape, &family->derived[i], value);
	return false;
}

/* Ends: a derived value is made of dims only, see lib/family/family_rule.c. */
static bool product(const struct kp_family *family, const struct kp_shape *shape,
	const struct kp_term *term, double *value)
{
	double made = 1;
	for (size_t i = 0; i < term->count; i++) {
		double factor = term->factors[i].number;
		if (term->factors[i].name &&
			!kp_family_value(family, shape, term->factors[i].name, &factor))
			return false;
		made *= factor;
	}
	*value = made;
	return true;
}

double kp_family_work(const struct kp_family *family, const struct kp_shape *shape,
	const struct kp_terms *terms)
{
	double sum = 0;
	for (size_t i = 0; i < terms->count; i++) {
		double value;
		if (!product(family, shape, &terms->items[i], &value))
			return 0;
		sum += value;
	}
	return sum;
}

double kp_family_touched(const struct kp_family *family, const struct kp_shape *shape,
	const struct kp_role *role)
{
	const struct kp_term all = {role->rank, role->dims};
	const struct kp_terms dims = {1, &all};

	if (role->distinct.count)
		return kp_family_work(family, shape, &role->distinct);
	if (role->bytes.count)
		return kp_family_work(family, shape, &role->bytes);
	return kp_family_work(family, shape, &dims);
}
