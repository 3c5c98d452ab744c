/* SPDX-License-Identifier: MIT */
/* The roles of a family; how they are filled is read in family_fill.c. */
#include <stdio.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/owned.h"
#include "lib/family/family_build.h"

static const struct kp_json_key role_keys[] = {
	{"name", KP_JSON_STRING, true},
	{"direction", KP_JSON_STRING, true},
	{"dims", KP_JSON_ARRAY, true},
	{"formats", KP_JSON_ARRAY, true},
	{"key", KP_JSON_BOOLEAN, false},
	{"space", KP_JSON_STRING, false},
	{"optional", KP_JSON_BOOLEAN, false},
	{"revision", KP_JSON_INTEGER, false},
	{"repeat", KP_JSON_STRING | KP_JSON_NULL, false},
	{"alias", KP_JSON_STRING | KP_JSON_NULL, false},
	{"interleave", KP_JSON_BOOLEAN, false},
	{"fill", KP_JSON_OBJECT, false},
	{"bytes", KP_JSON_ARRAY | KP_JSON_NULL, false},
	{"distinct", KP_JSON_ARRAY | KP_JSON_NULL, false},
};

/* Which of `names` is the text of the key? -1 with bad_family when none is. */
static int choice(struct kp_reading *reading, const json_t *object, const char *path,
	const char *key, const char *const *names, size_t count)
{
	char where[KP_FAMILY_PATH];
	const char *text = kp_json_text(object, key);
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], text) == 0)
			return (int)i;
	return kp_reading_bad(reading, kp_reading_path(where, path, key),
		"%s is not one of %s, %s, %s", text, names[0], names[1], names[2]);
}

static int read_places(struct kp_reading *reading, const json_t *value, const char *path,
	struct kp_role *role)
{
	static const char *const directions[] = {"in", "out", "inout"};
	static const char *const spaces[] = {"device", "host", "either"};

	int direction = choice(reading, value, path, "direction", directions, 3);
	if (direction < 0)
		return -1;
	int space = kp_json_text(value, "space")
			    ? choice(reading, value, path, "space", spaces, 3)
			    : (int)KP_SPACE_DEVICE;
	if (space < 0)
		return -1;
	role->direction = (enum kp_direction)direction;
	role->space = (enum kp_space)space;
	return 0;
}

static int read_dims(struct kp_reading *reading, const json_t *list, const char *path,
	struct kp_role *role)
{
	struct kp_term term;

	if (kp_reading_bounded(reading, path, json_array_size(list), KP_FAMILY_RANK) <
			0 ||
		kp_reading_term(reading, list, path, false, &term) < 0)
		return -1;
	for (size_t i = 0; i < term.count; i++) {
		double number = term.factors[i].number;
		if (!term.factors[i].name &&
			(number < 1 || number != (double)(int64_t)number))
			return kp_reading_bad(reading, path,
				"a dim is a name or a whole number from 1 on");
	}
	role->rank = term.count;
	role->dims = term.factors;
	return 0;
}

static int read_formats(struct kp_reading *reading, const json_t *list, const char *path,
	struct kp_role *role)
{
	char item[KP_FAMILY_PATH];
	char canonical[KP_SIGNATURE_BYTES];
	size_t count = json_array_size(list);

	if (count == 0)
		return kp_reading_bad(reading, path, "at least one format is needed");
	if (kp_reading_bounded(reading, path, count, KP_FAMILY_ITEMS) < 0)
		return -1;
	const char **items = kp_reading_array(reading, count, sizeof(*items));
	for (size_t i = 0; items && i < count; i++) {
		const json_t *value = json_array_get(list, i);
		struct kp_format format;
		struct kp_diag why;
		(void)snprintf(item, sizeof(item), "%s[%zu]", path, i);
		if (!json_is_string(value))
			return kp_json_wrong_type(
				reading->diag, item, value, KP_JSON_STRING);
		if (kp_format_parse(json_string_value(value), &format, &why) < 0)
			return kp_reading_bad(reading, item, "%s", why.message);
		kp_format_print(&format, canonical, sizeof(canonical));
		items[i] = kp_arena_strdup(reading->family->memory, canonical);
		if (!items[i])
			return kp_diag_no_memory(reading->diag);
	}
	role->formats = (struct kp_strings){count, items};
	return items ? 0 : -1;
}

static int read_role(struct kp_reading *reading, const json_t *value, const char *path,
	struct kp_role *role)
{
	char where[KP_FAMILY_PATH];

	if (kp_json_check(value, path, role_keys, KP_COUNT(role_keys), NULL,
		    reading->diag) < 0 ||
		kp_reading_name(reading, json_object_get(value, "name"),
			kp_reading_path(where, path, "name")) < 0)
		return -1;
	role->name = kp_json_text(value, "name");
	role->key = json_is_true(json_object_get(value, "key"));
	role->optional = json_is_true(json_object_get(value, "optional"));
	role->interleave = json_is_true(json_object_get(value, "interleave"));
	role->repeat = kp_json_text(value, "repeat");
	role->alias = kp_json_text(value, "alias");
	if (role->repeat && kp_reading_quantity(reading, json_object_get(value, "repeat"),
				    kp_reading_path(where, path, "repeat"), false) < 0)
		return -1;
	if (kp_reading_revision(reading, value, path, &role->revision) < 0 ||
		read_places(reading, value, path, role) < 0 ||
		read_dims(reading, json_object_get(value, "dims"),
			kp_reading_path(where, path, "dims"), role) < 0 ||
		read_formats(reading, json_object_get(value, "formats"),
			kp_reading_path(where, path, "formats"), role) < 0 ||
		kp_reading_fill(reading, json_object_get(value, "fill"),
			kp_reading_path(where, path, "fill"), role) < 0)
		return -1;
	if (kp_reading_terms(reading, json_object_get(value, "bytes"),
		    kp_reading_path(where, path, "bytes"), &role->bytes) < 0)
		return -1;
	return kp_reading_terms(reading, json_object_get(value, "distinct"),
		kp_reading_path(where, path, "distinct"), &role->distinct);
}

/* Names are single, and an alias is another role of the same dims. */
static int check_role(struct kp_reading *reading, const struct kp_role *roles,
	size_t count, size_t i, const char *path)
{
	const struct kp_role *target = NULL;

	for (size_t j = 0; j < i; j++)
		if (strcmp(roles[j].name, roles[i].name) == 0)
			return kp_reading_bad(reading, path, "the role %s is there twice",
				roles[i].name);
	if (!roles[i].alias)
		return 0;
	for (size_t j = 0; j < count; j++)
		if (j != i && strcmp(roles[j].name, roles[i].alias) == 0)
			target = &roles[j];
	if (!target)
		return kp_reading_bad(
			reading, path, "alias %s is no other role", roles[i].alias);
	if (roles[i].direction == KP_IN)
		return kp_reading_bad(reading, path, "only an output may be an alias");
	return 0;
}

int kp_reading_roles(struct kp_reading *reading, const json_t *list)
{
	char path[KP_FAMILY_PATH];
	size_t count = json_array_size(list);

	if (count == 0)
		return kp_reading_bad(reading, "roles", "at least one role is needed");
	if (kp_reading_bounded(reading, "roles", count, KP_FAMILY_ROLES) < 0)
		return -1;
	struct kp_role *roles = kp_reading_array(reading, count, sizeof(*roles));
	if (!roles)
		return -1;
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), "roles[%zu]", i);
		if (read_role(reading, json_array_get(list, i), path, &roles[i]) < 0)
			return -1;
	}
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), "roles[%zu]", i);
		if (check_role(reading, roles, count, i, path) < 0)
			return -1;
	}
	reading->family->roles = roles;
	reading->family->n_roles = count;
	return 0;
}
