/* SPDX-License-Identifier: MIT */
/* The small parts that a family is made of: names, dims, products of them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/text.h"
#include "lib/family/family_build.h"

void *kp_reading_array(struct kp_reading *reading, size_t count, size_t width)
{
	void *array = kp_arena_alloc(reading->family->memory, count, width);
	if (!array)
		kp_diag_no_memory(reading->diag);
	return array;
}

const char *kp_reading_path(char *out, const char *path, const char *key)
{
	(void)snprintf(out, KP_FAMILY_PATH, "%s.%s", path, key);
	return out;
}

int kp_reading_bad(struct kp_reading *reading, const char *path, const char *format, ...)
{
	char what[256];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return kp_diag_set(reading->diag, "bad_family", path, "%s: %s", path, what);
}

int kp_reading_bounded(
	struct kp_reading *reading, const char *path, size_t count, size_t most)
{
	if (count <= most)
		return 0;
	return kp_diag_set(reading->diag, "too_many", path,
		"%s: %zu of them, at most %zu are allowed", path, count, most);
}

int kp_reading_name(struct kp_reading *reading, const json_t *value, const char *path)
{
	if (!json_is_string(value))
		return kp_json_wrong_type(reading->diag, path, value, KP_JSON_STRING);
	if (!kp_text_is_name(json_string_value(value)))
		return kp_reading_bad(reading, path, "%s", kp_text_name_rule);
	return 0;
}

/* The names of dims and, with `derived`, of derived values; room for both. */
static size_t quantities(const struct kp_family *family, bool derived, const char **names)
{
	size_t n = 0;
	for (size_t i = 0; i < family->dims.count; i++)
		names[n++] = family->dims.items[i];
	for (size_t i = 0; derived && i < family->n_derived; i++)
		names[n++] = family->derived[i].name;
	return n;
}

int kp_reading_quantity(
	struct kp_reading *reading, const json_t *value, const char *path, bool derived)
{
	const char *names[KP_FAMILY_DIMS + KP_FAMILY_ITEMS];
	size_t count = quantities(reading->family, derived, names);
	char offer[KP_TEXT_OFFER];

	if (!json_is_string(value))
		return kp_json_wrong_type(
			reading->diag, path, value, KP_JSON_STRING | KP_JSON_NUMBER);
	const char *wanted = json_string_value(value);
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], wanted) == 0)
			return 0;
	return kp_diag_set(reading->diag, "unknown_dim", path, "%s: %s is no dim%s%s",
		path, wanted, derived ? " or derived value" : "",
		kp_text_offer(wanted, names, count, "it is one of", offer));
}

int kp_reading_revision(struct kp_reading *reading, const json_t *object,
	const char *path, unsigned *revision)
{
	const json_t *value = json_object_get(object, "revision");
	json_int_t number = value ? json_integer_value(value) : 1;

	if (number < 1 || number > (json_int_t)reading->family->revision)
		return kp_reading_bad(reading, path,
			"revision %lld is not from 1 to the family's, %u",
			(long long)number, reading->family->revision);
	*revision = (unsigned)number;
	return 0;
}

static bool is_in(const struct kp_strings *strings, const char *text)
{
	for (size_t i = 0; i < strings->count; i++)
		if (strcmp(strings->items[i], text) == 0)
			return true;
	return false;
}

int kp_reading_dims(struct kp_reading *reading, const json_t *list, const char *path,
	struct kp_strings *dims)
{
	char item[KP_FAMILY_PATH];
	size_t count = json_array_size(list);

	if (kp_reading_bounded(reading, path, count, KP_FAMILY_DIMS) < 0)
		return -1;
	const char **items = kp_reading_array(reading, count, sizeof(*items));
	if (!items)
		return -1;
	*dims = (struct kp_strings){0, items};
	for (size_t i = 0; i < count; i++) {
		const json_t *value = json_array_get(list, i);
		(void)snprintf(item, sizeof(item), "%s[%zu]", path, i);
		if (kp_reading_name(reading, value, item) < 0)
			return -1;
		if (is_in(dims, json_string_value(value)))
			return kp_reading_bad(reading, item, "%s is there twice",
				json_string_value(value));
		items[dims->count++] = json_string_value(value);
	}
	return 0;
}

int kp_reading_term(struct kp_reading *reading, const json_t *list, const char *path,
	bool derived, struct kp_term *term)
{
	char item[KP_FAMILY_PATH];
	size_t count = json_array_size(list);

	if (!json_is_array(list))
		return kp_json_wrong_type(reading->diag, path, list, KP_JSON_ARRAY);
	if (kp_reading_bounded(reading, path, count, KP_FAMILY_FACTORS) < 0)
		return -1;
	struct kp_factor *factors = kp_reading_array(reading, count, sizeof(*factors));
	if (!factors)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const json_t *value = json_array_get(list, i);
		(void)snprintf(item, sizeof(item), "%s[%zu]", path, i);
		if (json_is_number(value))
			factors[i].number = json_number_value(value);
		else if (kp_reading_quantity(reading, value, item, derived) < 0)
			return -1;
		else
			factors[i].name = json_string_value(value);
	}
	*term = (struct kp_term){count, factors};
	return 0;
}

int kp_reading_terms(struct kp_reading *reading, const json_t *list, const char *path,
	struct kp_terms *terms)
{
	char item[KP_FAMILY_PATH];
	size_t count = json_array_size(list);

	if (kp_reading_bounded(reading, path, count, KP_FAMILY_ITEMS) < 0)
		return -1;
	struct kp_term *items = kp_reading_array(reading, count, sizeof(*items));
	if (!items)
		return -1;
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(item, sizeof(item), "%s[%zu]", path, i);
		if (kp_reading_term(
			    reading, json_array_get(list, i), item, true, &items[i]) < 0)
			return -1;
	}
	*terms = (struct kp_terms){count, items};
	return 0;
}
