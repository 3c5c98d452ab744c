/* SPDX-License-Identifier: MIT */
/* Traits of a benchmark: values of attributes, and what they mean for its numbers. */
#include "daemon/bench/bench_traits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 2^53: below it every integer is a number, at it another may have been meant. */
static const double exact_end = 9007199254740992.0;

/* A trait under check. */
struct subject {
	const char *name;
	const struct kp_trait_rule *rule;     /* or NULL */
	const struct kp_attribute *attribute; /* or NULL */
};

static const struct kp_attribute *find_attribute(
	const struct kp_family *family, const char *name)
{
	for (size_t i = 0; i < family->n_attributes; i++)
		if (strcmp(family->attributes[i].name, name) == 0)
			return &family->attributes[i];
	return NULL;
}

/* A text is what was typed: "64", "true"; what it must be, others say. */
static json_t *typed(const struct subject *subject, const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (subject->rule && subject->rule->kind == KP_SCALAR_TEXT)
		return json_string(text);
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		return json_boolean(text[0] == 't');
	if (!*text || *end || !isfinite(value))
		return json_string(text);
	if (value == floor(value) && fabs(value) < exact_end)
		return json_integer((json_int_t)value);
	return json_real(value);
}

static int bad(const struct subject *subject, struct kp_diag *diag, const char *what)
{
	return kp_diag_set(
		diag, "bad_trait", subject->name, "the trait %s %s", subject->name, what);
}

static int check_value(
	const struct subject *subject, const json_t *value, struct kp_diag *diag)
{
	const struct kp_attribute *attribute = subject->attribute;
	double number = json_is_number(value) ? json_number_value(value) : 0;
	bool is_bool = attribute && attribute->type == KP_ATTRIBUTE_BOOL;

	if (fabs(number) >= exact_end)
		return bad(subject, diag,
			"is not below 2^53, where not every integer is a number");
	if (attribute && !is_bool && !json_is_number(value))
		return bad(subject, diag, "is a number");
	if (is_bool && !json_is_boolean(value))
		return bad(subject, diag, "is true or false");
	if (attribute && attribute->type == KP_ATTRIBUTE_INT && floor(number) != number)
		return bad(subject, diag, "is an integer");
	return 0;
}

static bool is_preset(const struct kp_scalar *preset, const json_t *value)
{
	switch (preset->kind) {
	case KP_SCALAR_BOOL:
		return json_is_boolean(value) &&
		       json_is_true(value) == (preset->number != 0);
	case KP_SCALAR_TEXT:
		return json_is_string(value) &&
		       strcmp(json_string_value(value), preset->text) == 0;
	default:
		return json_is_number(value) &&
		       json_number_value(value) == preset->number;
	}
}

/* Does it change what is to be computed? Work terms are those of the defaults. */
static bool changes_work(const struct subject *subject, const json_t *value)
{
	const struct kp_trait_rule *rule = subject->rule;
	double number =
		json_is_number(value) ? json_number_value(value) : json_is_true(value);

	if (rule && rule->has_preset && !is_preset(&rule->preset, value))
		return true;
	return subject->attribute && number != subject->attribute->preset;
}

/* The value that one case has; a new reference, or NULL with *diag. */
static json_t *single(
	const struct subject *subject, const json_t *asked, struct kp_diag *diag)
{
	const json_t *value =
		json_array_size(asked) == 1 ? json_array_get(asked, 0) : asked;
	json_t *result = NULL;

	if (json_is_array(value))
		(void)bad(subject, diag,
			"is a set: a benchmark measures one case, say one value");
	else if (json_is_object(value) || json_is_null(value))
		(void)bad(subject, diag, "is a number, true, false or a text");
	else if (!(result = json_is_string(value)
				    ? typed(subject, json_string_value(value))
				    : json_incref((json_t *)value)))
		(void)kp_diag_no_memory(diag);
	return result;
}

static int read_one(struct bench_plan *plan, const struct subject *subject,
	const json_t *asked, struct kp_diag *diag)
{
	json_t *value = single(subject, asked, diag);

	if (!value)
		return -1;
	int failed = check_value(subject, value, diag);
	plan->is_unusual |= !failed && changes_work(subject, value);
	if (!failed && (json_object_set(plan->traits, subject->name, value) < 0 ||
			       (subject->attribute && json_object_set(plan->attributes,
							      subject->name, value) < 0)))
		failed = kp_diag_no_memory(diag);
	json_decref(value);
	return failed;
}

int bench_traits_read(struct bench_plan *plan, const json_t *asked, struct kp_diag *diag)
{
	const char *name;
	json_t *value;

	plan->traits = json_object();
	plan->attributes = json_object();
	if (!plan->traits || !plan->attributes)
		return kp_diag_no_memory(diag);
	json_object_foreach ((json_t *)asked, name, value) {
		const struct subject subject = {name, kp_family_trait(plan->family, name),
			find_attribute(plan->family, name)};
		if (read_one(plan, &subject, value, diag) < 0)
			return -1;
	}
	return 0;
}
