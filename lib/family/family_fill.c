/* SPDX-License-Identifier: MIT */
/* Which fills there are, what they fill, and their parameters. */
#include <stdio.h>
#include <string.h>

#include "lib/base/owned.h"
#include "lib/family/family_build.h"

/* A number, where a name is not meant: what a parameter of a fill may be. */
enum { NUMBER = KP_JSON_NUMBER, QUANTITY = KP_JSON_NUMBER | KP_JSON_STRING };
enum { FILL_PARAMETERS = 4 };

/* The first parameter is the kind itself. */
static const struct fill_kind {
	const char *name;
	bool integers; /* only these fit a role of integers */
	bool reals;    /* fits one of floating-point numbers */
	struct kp_json_key parameters[FILL_PARAMETERS];
} fill_kinds[] = {
	{"normal", false, true,
		{{"kind", KP_JSON_STRING, true}, {"scale", NUMBER, false}}},
	{"uniform", true, true,
		{{"kind", KP_JSON_STRING, true}, {"min", QUANTITY, true},
			{"max", QUANTITY, true}}},
	{"constant", true, true,
		{{"kind", KP_JSON_STRING, true}, {"value", QUANTITY, true}}},
	{"lens", true, false,
		{{"kind", KP_JSON_STRING, true}, {"min", QUANTITY, true},
			{"max", QUANTITY, true}, {"total", QUANTITY, false}}},
	{"pages", true, false,
		{{"kind", KP_JSON_STRING, true}, {"below", QUANTITY, true}}},
	{"indptr", true, false,
		{{"kind", KP_JSON_STRING, true}, {"total", QUANTITY, true}}},
	{"ids", true, false, {{"kind", KP_JSON_STRING, true}, {"below", QUANTITY, true}}},
	{"zero", true, true, {{"kind", KP_JSON_STRING, true}}},
};

/* The formats of a role are all of one sort. */
static bool is_real(const struct kp_role *role)
{
	struct kp_format format;
	return kp_format_parse(role->formats.items[0], &format, NULL) == 0 &&
	       format.element <= KP_F8_E5M2;
}

static const struct fill_kind *find_fill(const char *name)
{
	for (size_t i = 0; i < KP_COUNT(fill_kinds); i++)
		if (strcmp(fill_kinds[i].name, name) == 0)
			return &fill_kinds[i];
	return NULL;
}

static int check_parameters(struct kp_reading *reading, const json_t *value,
	const char *path, const struct fill_kind *kind)
{
	char where[KP_FAMILY_PATH];
	size_t count = 0;
	while (count < FILL_PARAMETERS && kind->parameters[count].name)
		count++;
	if (kp_json_check(value, path, kind->parameters, count, NULL, reading->diag) < 0)
		return -1;
	for (size_t i = 1; i < count; i++) {
		const char *name = kind->parameters[i].name;
		const json_t *parameter = json_object_get(value, name);
		(void)snprintf(where, sizeof(where), "%s.%s", path, name);
		if (json_is_string(parameter) &&
			kp_reading_quantity(reading, parameter, where, true) < 0)
			return -1;
	}
	return 0;
}

int kp_reading_fill(struct kp_reading *reading, const json_t *value, const char *path,
	struct kp_role *role)
{
	bool real = is_real(role);

	if (!value && role->direction != KP_OUT && !real)
		return kp_reading_bad(reading, path, "an input of integers needs a fill");
	if (!value) {
		role->fill.kind = role->direction == KP_OUT ? "zero" : "normal";
		return 0;
	}
	const char *name = kp_json_text(value, "kind");
	const struct fill_kind *kind = name ? find_fill(name) : NULL;
	if (!kind)
		return kp_reading_bad(reading, path, "%s is no kind of fill",
			name ? name : "a fill without the text \"kind\"");
	if (!(real ? kind->reals : kind->integers))
		return kp_reading_bad(reading, path, "%s does not fill %s", name,
			real ? "floating-point numbers" : "integers");
	role->fill = (struct kp_fill){kind->name, value};
	return check_parameters(reading, value, path, kind);
}
