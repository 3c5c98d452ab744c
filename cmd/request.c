/* SPDX-License-Identifier: MIT */
/* Options of a request as JSON. */
#include "cmd/request.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/session.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/text.h"
#include "lib/platform/platform.h"

enum { NAME_BYTES = 65, VALUE_BYTES = 256, PLATFORM_BYTES = 1 << 20 };
static const int64_t extent_most = (int64_t)1 << 40;

/* The name before the '=' into `name`; what is behind, or NULL. */
static const char *split(const char *text, size_t size, char *name)
{
	const char *equals = memchr(text, '=', size);
	size_t length = equals ? (size_t)(equals - text) : 0;
	if (length == 0 || length >= NAME_BYTES)
		return NULL;
	memcpy(name, text, length);
	name[length] = '\0';
	return kp_text_is_name(name) ? equals + 1 : NULL;
}

/* ---- shape ------------------------------------------------------------------- */

/* One of the pieces between the commas of `whole`. */
static int read_dim(const char *whole, const char *text, size_t size, json_t *shape,
	struct kp_diag *diag)
{
	char name[NAME_BYTES];
	char *end;
	const char *value = split(text, size, name);
	if (size == 0)
		return kp_diag_set(diag, "bad_shape", "shape",
			"--shape %s: there is nothing beside a comma; DIM=EXTENT is "
			"expected",
			whole);
	if (!value)
		return kp_diag_set(diag, "bad_shape", "shape",
			"--shape %s: DIM=EXTENT is expected, not %.*s", whole, (int)size,
			text);
	errno = 0;
	long long extent = strtoll(value, &end, 10);
	if (end != text + size || end == value || errno || extent < 0 ||
		extent > extent_most || value[0] == ' ' || value[0] == '+' ||
		value[0] == '-')
		return kp_diag_set(diag, "bad_extent", name,
			"--shape %.*s: an extent is a whole number from 0 to %lld",
			(int)size, text, (long long)extent_most);
	json_t *known = json_object_get(shape, name);
	if (known && json_integer_value(known) != extent)
		return kp_diag_set(diag, "bad_shape", name,
			"--shape: %s is given as %lld and as %lld", name,
			(long long)json_integer_value(known), extent);
	return json_object_set_new(shape, name, json_integer(extent)) < 0
		       ? kp_diag_no_memory(diag)
		       : 0;
}

int request_read_shape(const char *text, json_t *shape, struct kp_diag *diag)
{
	for (const char *at = text;;) {
		size_t size = strcspn(at, ",");
		if (read_dim(text, at, size, shape, diag) < 0)
			return -1;
		if (!at[size])
			return 0;
		at += size + 1;
	}
}

static int read_shapes(
	const struct arguments *arguments, json_t *request, struct kp_diag *diag)
{
	size_t at = 0;
	const char *text;
	if (!arguments_has(arguments, "shape"))
		return 0;
	owned_json *shape = json_object();
	if (!shape)
		return kp_diag_no_memory(diag);
	while ((text = arguments_next(arguments, "shape", &at)))
		if (request_read_shape(text, shape, diag) < 0)
			return -1;
	return json_object_set(request, "shape", shape) < 0 ? kp_diag_no_memory(diag) : 0;
}

/* ---- traits ------------------------------------------------------------------ */

/* "64", "0.5", "true" or any other text; NULL for a number that would be another. */
static json_t *scalar(const char *text)
{
	char *end;
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		return json_boolean(text[0] == 't');
	if (!strpbrk(text, "xXpPnNiI ") && strpbrk(text, "0123456789")) {
		errno = 0;
		long long integer = strtoll(text, &end, 10);
		if (!*end)
			return errno ? NULL : json_integer(integer);
		double real = strtod(text, &end);
		if (!*end)
			return isfinite(real) ? json_real(real) : NULL;
	}
	return json_string(text);
}

static int bad_trait(const char *text, const char *why, struct kp_diag *diag)
{
	return kp_diag_set(diag, "bad_trait", text, "--trait %s: %s", text, why);
}

/* One value, or several with '|' between them as a set. */
static int read_values(
	const char *text, const char *value, json_t *set, struct kp_diag *diag)
{
	for (;;) {
		char one[VALUE_BYTES];
		size_t size = strcspn(value, "|");
		if (size == 0)
			return bad_trait(text, "a value is empty", diag);
		if (size >= sizeof(one))
			return bad_trait(text, "a value is too long", diag);
		memcpy(one, value, size);
		one[size] = '\0';
		json_t *read = scalar(one);
		if (!read)
			return bad_trait(text, "the number is too large", diag);
		if (json_array_append_new(set, read) < 0)
			return kp_diag_no_memory(diag);
		if (!value[size])
			return 0;
		value += size + 1;
	}
}

static int read_trait(const char *text, json_t *traits, struct kp_diag *diag)
{
	char name[NAME_BYTES];
	const char *value = split(text, strlen(text), name);
	if (!value)
		return bad_trait(text, "NAME=VALUE is expected", diag);
	if (json_object_get(traits, name))
		return bad_trait(text, "this trait is given twice", diag);
	owned_json *set = json_array();
	if (!set)
		return kp_diag_no_memory(diag);
	if (read_values(text, value, set, diag) < 0)
		return -1;
	json_t *whole = json_array_size(set) == 1 ? json_array_get(set, 0) : set;
	return json_object_set(traits, name, whole) < 0 ? kp_diag_no_memory(diag) : 0;
}

int request_read_traits(
	const struct arguments *arguments, json_t **traits, struct kp_diag *diag)
{
	size_t at = 0;
	const char *text;
	owned_json *all = json_object();
	if (!all)
		return kp_diag_no_memory(diag);
	while ((text = arguments_next(arguments, "trait", &at)))
		if (read_trait(text, all, diag) < 0)
			return -1;
	*traits = json_incref(all);
	return 0;
}

static int add_traits(
	const struct arguments *arguments, json_t *request, struct kp_diag *diag)
{
	json_t *traits = NULL;
	if (!arguments_has(arguments, "trait"))
		return 0;
	if (request_read_traits(arguments, &traits, diag) < 0)
		return -1;
	return json_object_set_new(request, "traits", traits) < 0
		       ? kp_diag_no_memory(diag)
		       : 0;
}

/* ---- the rest ---------------------------------------------------------------- */

static int add_text(
	json_t *request, const char *key, const char *text, struct kp_diag *diag)
{
	if (!text)
		return 0;
	return json_object_set_new(request, key, json_string(text)) < 0
		       ? kp_diag_no_memory(diag)
		       : 0;
}

int request_add_list(const struct arguments *arguments, const char *option,
	const char *key, json_t *request, struct kp_diag *diag)
{
	size_t at = 0;
	const char *text;
	if (!arguments_has(arguments, option))
		return 0;
	json_t *list = json_array();
	if (json_object_set_new(request, key, list) < 0)
		return kp_diag_no_memory(diag);
	while ((text = arguments_next(arguments, option, &at)))
		if (json_array_append_new(list, json_string(text)) < 0)
			return kp_diag_no_memory(diag);
	return 0;
}

static bool is_file_name(const char *text)
{
	return strchr(text, '/') || kp_text_ends_with(text, ".json");
}

/* What the daemon would refuse, said here, where the file's name is known. */
static int check_platform(const json_t *value, const char *file, struct kp_diag *diag)
{
	struct kp_platform platform;
	if (kp_platform_from_json(value, &platform, diag) < 0)
		return kp_diag_at(diag, file, 0, 0);
	kp_platform_finish(&platform);
	return 0;
}

/* A platform's name, or the file with one: the daemon need not be able to read it. */
static int add_platform(const char *text, json_t *request, struct kp_diag *diag)
{
	char *bytes;
	size_t size;
	owned_json *platform = NULL;
	if (!text || !is_file_name(text))
		return add_text(request, "on", text, diag);
	if (kp_file_read(AT_FDCWD, text, PLATFORM_BYTES, &bytes, &size, diag) < 0)
		return -1;
	int result = kp_json_parse(bytes, size, text, &platform, diag);
	free(bytes);
	if (result < 0)
		return -1;
	if (!json_is_object(platform))
		return kp_diag_set(diag, "bad_platform", text,
			"%s: a platform is an object, not %s", text,
			kp_json_type_name(platform));
	if (check_platform(platform, text, diag) < 0)
		return -1;
	return json_object_set(request, "on", platform) < 0 ? kp_diag_no_memory(diag) : 0;
}

int request_build(const struct arguments *arguments, const char *operation,
	json_t **request, struct kp_diag *diag)
{
	static const struct {
		const char *option, *key;
	} texts[] = {{"sig", "signature"}, {"solution", "solution"},
		{"objective", "objective"}, {"override", "override"}};
	owned_json *all = json_object();
	if (!all)
		return kp_diag_no_memory(diag);
	if (add_text(all, "operation", operation, diag) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (add_text(all, texts[i].key,
			    arguments_value(arguments, texts[i].option), diag) < 0)
			return -1;
	if (read_shapes(arguments, all, diag) < 0 ||
		add_traits(arguments, all, diag) < 0 ||
		request_add_list(arguments, "feature", "features", all, diag) < 0 ||
		request_add_list(arguments, "without", "without", all, diag) < 0 ||
		add_platform(arguments_value(arguments, "on"), all, diag) < 0)
		return -1;
	if (arguments_has(arguments, "force") && !arguments_has(arguments, "override"))
		return kp_diag_set(diag, "needs_override", "force",
			"--force is about an override: it needs --override NAME");
	if (arguments_has(arguments, "force") &&
		json_object_set_new(all, "force", json_true()) < 0)
		return kp_diag_no_memory(diag);
	*request = json_incref(all);
	return 0;
}

int request_add_shapes(
	const struct arguments *arguments, json_t *parameters, struct kp_diag *diag)
{
	size_t at = 0;
	const char *text;
	if (!arguments_has(arguments, "shape"))
		return 0;
	json_t *shapes = json_array();
	if (json_object_set_new(parameters, "shapes", shapes) < 0)
		return kp_diag_no_memory(diag);
	while ((text = arguments_next(arguments, "shape", &at))) {
		json_t *shape = json_object();
		if (json_array_append_new(shapes, shape) < 0)
			return kp_diag_no_memory(diag);
		if (request_read_shape(text, shape, diag) < 0)
			return -1;
	}
	return 0;
}
