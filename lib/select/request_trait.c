/* SPDX-License-Identifier: MIT */
/* Values of traits: numbers, booleans and texts; a text is read as what is asked for. */
#include "lib/select/request_trait.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/owned.h"

/* 2^53: from here on a double may be another integer than the one that was written. */
static const double integer_end = 9007199254740992.0;

/* What the values of a name must be. `any`: no family says. */
struct wanted {
	const char *name;
	enum kp_scalar_kind kind;
	bool integer, any;
};

static int bad_value(
	const struct wanted *wanted, const struct kp_scalar *value, struct kp_diag *diag)
{
	static const char *const kinds[] = {
		[KP_SCALAR_NUMBER] = "a number",
		[KP_SCALAR_BOOL] = "true or false",
		[KP_SCALAR_TEXT] = "a text",
	};
	char text[80];

	return kp_diag_set(diag, "bad_trait", wanted->name, "the trait %s is %s, not %s",
		wanted->name,
		wanted->integer ? "an integer below 2^53" : kinds[wanted->kind],
		kp_scalar_print(value, text, sizeof(text)));
}

static bool to_number(struct kp_scalar *value)
{
	char *end;

	if (value->kind != KP_SCALAR_TEXT || !value->text[0])
		return false;
	double number = strtod(value->text, &end);
	if (*end || !isfinite(number))
		return false;
	*value = (struct kp_scalar){KP_SCALAR_NUMBER, number, NULL};
	return true;
}

static bool to_bool(struct kp_scalar *value)
{
	bool is_true = value->kind == KP_SCALAR_TEXT && strcmp(value->text, "true") == 0;
	bool is_false =
		value->kind == KP_SCALAR_TEXT && strcmp(value->text, "false") == 0;

	if (!is_true && !is_false)
		return false;
	*value = (struct kp_scalar){KP_SCALAR_BOOL, is_true, NULL};
	return true;
}

static int convert(
	const struct wanted *wanted, struct kp_scalar *value, struct kp_diag *diag)
{
	struct kp_scalar given = *value;

	if (wanted->any) {
		if (!to_number(value))
			to_bool(value);
		return 0;
	}
	if (value->kind != wanted->kind &&
		(wanted->kind == KP_SCALAR_TEXT ||
			!(wanted->kind == KP_SCALAR_NUMBER ? to_number(value)
							   : to_bool(value))))
		return bad_value(wanted, &given, diag);
	if (wanted->integer && (floor(value->number) != value->number ||
				       fabs(value->number) >= integer_end))
		return bad_value(wanted, &given, diag);
	return 0;
}

static struct wanted wanted_of(
	const struct kp_table *table, const unsigned char *family, const char *name)
{
	struct wanted wanted = {name, KP_SCALAR_NUMBER, false, !family};
	const unsigned char *rule = kp_query_rule(table, family, name);

	if (rule) {
		wanted.kind = rule[KP_RULE_KIND];
		wanted.integer = kp_query_rule_is(rule, KP_RULE_INTEGER);
	} else {
		wanted.integer = kp_query_is_dim(table, family, name);
	}
	return wanted;
}

static int read_value(const struct wanted *wanted, const json_t *json,
	struct kp_scalar *value, struct kp_diag *diag)
{
	if (kp_scalar_from_json(json, wanted->name, value, diag) == 0)
		return convert(wanted, value, diag);
	/* Its type is right: the number is too large, as it could be in a text. */
	if (diag && json_is_number(json))
		diag->code = "bad_trait";
	return -1;
}

static int read_values(const struct wanted *wanted, const json_t *value,
	struct kp_asked_trait *trait, struct kp_diag *diag)
{
	size_t count = json_is_array(value) ? json_array_size(value) : 1;

	if (count == 0)
		return kp_diag_set(diag, "bad_trait", wanted->name,
			"the trait %s has an empty set of values", wanted->name);
	if (count > KP_COUNT(trait->values))
		return kp_diag_set(diag, "too_many", wanted->name,
			"the trait %s has %zu values, at most %zu", wanted->name, count,
			KP_COUNT(trait->values));
	for (size_t i = 0; i < count; i++) {
		const json_t *one =
			json_is_array(value) ? json_array_get(value, i) : value;
		if (read_value(wanted, one, &trait->values[i], diag) < 0)
			return -1;
	}
	trait->name = wanted->name;
	trait->count = count;
	return 0;
}

int kp_request_traits(const struct kp_table *table, const unsigned char *family,
	const json_t *traits, struct kp_request *request, struct kp_diag *diag)
{
	const char *name;
	json_t *value;

	if (json_object_size(traits) > KP_COUNT(request->traits))
		return kp_diag_set(diag, "too_many", "traits", "traits: at most %zu",
			KP_COUNT(request->traits));
	json_object_foreach ((json_t *)(uintptr_t)traits, name, value) {
		struct wanted wanted = wanted_of(table, family, name);
		if (kp_query_check_trait(table, family, request->operation, name, diag) <
				0 ||
			read_values(&wanted, value, &request->traits[request->n_traits],
				diag) < 0)
			return -1;
		request->n_traits++;
	}
	return 0;
}
