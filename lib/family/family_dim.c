/* SPDX-License-Identifier: MIT */
/* Dims of a family by other names, and what they are where a shape leaves them out. */
#include <stdio.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/family/family_build.h"

static const json_int_t extent_most = (json_int_t)1 << 40;

static bool is_dim(const struct kp_family *family, const char *name)
{
	for (size_t i = 0; i < family->dims.count; i++)
		if (strcmp(family->dims.items[i], name) == 0)
			return true;
	return false;
}

int kp_reading_aliases(struct kp_reading *reading, const json_t *object)
{
	char path[KP_FAMILY_PATH];
	const char *name;
	json_t *dim;

	if (kp_reading_bounded(
		    reading, "aliases", json_object_size(object), KP_FAMILY_ITEMS) < 0)
		return -1;
	json_object_foreach ((json_t *)(uintptr_t)object, name, dim) {
		(void)kp_reading_path(path, "aliases", name);
		if (!kp_text_is_name(name))
			return kp_reading_bad(reading, path, "%s", kp_text_name_rule);
		if (is_dim(reading->family, name))
			return kp_reading_bad(reading, path, "%s is a dim itself", name);
		if (kp_reading_quantity(reading, dim, path, false) < 0)
			return -1;
	}
	reading->family->aliases = object;
	return 0;
}

int kp_reading_defaults(struct kp_reading *reading, const json_t *object)
{
	char path[KP_FAMILY_PATH];
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)object, name, value) {
		json_int_t number = json_integer_value(value);
		(void)kp_reading_path(path, "defaults", name);
		if (!is_dim(reading->family, name))
			return kp_reading_bad(reading, path, "%s is no dim", name);
		if (json_is_integer(value) && number >= 0 && number <= extent_most)
			continue;
		if (json_is_integer(value))
			return kp_reading_bad(reading, path,
				"%lld is no extent, 0 to %lld expected",
				(long long)number, (long long)extent_most);
		if (kp_reading_quantity(reading, value, path, false) < 0)
			return -1;
		if (strcmp(json_string_value(value), name) == 0)
			return kp_reading_bad(reading, path, "%s is itself", name);
	}
	reading->family->defaults = object;
	return 0;
}
