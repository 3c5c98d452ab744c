/* SPDX-License-Identifier: MIT */
/* Comparing, printing and converting of values and of what accepts them. */
#include "lib/family/trait.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/text.h"

static const int64_t EXACT = INT64_C(1) << 53;

bool kp_scalar_equal(const struct kp_scalar *a, const struct kp_scalar *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == KP_SCALAR_TEXT)
		return strcmp(a->text, b->text) == 0;
	return a->number == b->number;
}

static bool is_integer(double number)
{
	return number >= -(double)EXACT && number <= (double)EXACT &&
	       (double)(int64_t)number == number;
}

bool kp_scalar_is_multiple(double number, double of)
{
	if (!(of > 0))
		return false;
	if (is_integer(number) && is_integer(of))
		return (int64_t)number % (int64_t)of == 0;
	return is_integer(number / of);
}

/* The shortest text that reads back as the same number. */
static void print_number(double number, char *text, size_t size)
{
	if (is_integer(number)) {
		(void)snprintf(text, size, "%lld", (long long)number);
		return;
	}
	(void)snprintf(text, size, "%.15g", number);
	if (strtod(text, NULL) != number)
		(void)snprintf(text, size, "%.17g", number);
}

const char *kp_scalar_print(const struct kp_scalar *scalar, char *text, size_t size)
{
	if (scalar->kind == KP_SCALAR_NUMBER)
		print_number(scalar->number, text, size);
	else if (scalar->kind == KP_SCALAR_BOOL)
		(void)snprintf(text, size, "%s", scalar->number != 0 ? "true" : "false");
	else
		(void)snprintf(text, size, "%s", scalar->text);
	return text;
}

static size_t add_condition(
	char *text, size_t size, size_t used, const char *what, double number)
{
	char value[40];
	print_number(number, value, sizeof(value));
	return kp_text_add(text, size, used, "%s%s%s", used ? " and " : "", what, value);
}

const char *kp_trait_print(const struct kp_trait *trait, char *text, size_t size)
{
	size_t used = kp_text_add(text, size, 0, "%s", "");

	for (size_t i = 0; i < trait->n_in; i++) {
		char value[80];
		used = kp_text_add(text, size, used, "%s%s", i ? ", " : "in {",
			kp_scalar_print(&trait->in[i], value, sizeof(value)));
	}
	if (trait->n_in)
		used = kp_text_add(text, size, used, "}");
	if (trait->has_min)
		used = add_condition(text, size, used, ">= ", trait->min);
	if (trait->has_max)
		used = add_condition(text, size, used, "<= ", trait->max);
	if (trait->has_multiple)
		used = add_condition(
			text, size, used, "multiple of ", trait->multiple_of);
	if (!used)
		kp_text_add(text, size, used, "any value");
	return text;
}

static bool is_in(const struct kp_trait *trait, const struct kp_scalar *value)
{
	for (size_t i = 0; i < trait->n_in; i++)
		if (kp_scalar_equal(&trait->in[i], value))
			return true;
	return trait->n_in == 0;
}

bool kp_trait_accepts(const struct kp_trait *trait, const struct kp_scalar *value)
{
	bool is_bounded = trait->has_min || trait->has_max || trait->has_multiple;

	if (!is_in(trait, value))
		return false;
	if (!is_bounded)
		return true;
	if (value->kind != KP_SCALAR_NUMBER)
		return false;
	return (!trait->has_min || value->number >= trait->min) &&
	       (!trait->has_max || value->number <= trait->max) &&
	       (!trait->has_multiple ||
		       kp_scalar_is_multiple(value->number, trait->multiple_of));
}

int kp_scalar_from_json(const json_t *value, const char *path, struct kp_scalar *scalar,
	struct kp_diag *diag)
{
	struct kp_scalar s = {KP_SCALAR_NUMBER, 0, NULL};

	if (json_is_number(value)) {
		s.number = json_number_value(value);
		/* As a double a larger one could look like another. */
		json_int_t integer = json_integer_value(value);
		if (integer > EXACT || integer < -EXACT)
			return kp_diag_set(diag, "wrong_type", path,
				"%s: %" JSON_INTEGER_FORMAT " is beyond 2^53", path,
				integer);
	} else if (json_is_boolean(value)) {
		s.kind = KP_SCALAR_BOOL;
		s.number = json_is_true(value);
	} else if (json_is_string(value)) {
		s.kind = KP_SCALAR_TEXT;
		s.text = json_string_value(value);
	} else {
		return kp_json_wrong_type(diag, path, value,
			KP_JSON_NUMBER | KP_JSON_BOOLEAN | KP_JSON_STRING);
	}
	*scalar = s;
	return 0;
}

static json_t *number_json(double number)
{
	return is_integer(number) ? json_integer((json_int_t)number) : json_real(number);
}

json_t *kp_scalar_json(const struct kp_scalar *scalar)
{
	if (scalar->kind == KP_SCALAR_TEXT)
		return json_string(scalar->text);
	if (scalar->kind == KP_SCALAR_BOOL)
		return json_boolean(scalar->number != 0);
	return number_json(scalar->number);
}

static json_t *in_json(const struct kp_trait *trait)
{
	json_t *in = json_array();
	for (size_t i = 0; in && i < trait->n_in; i++)
		in = kp_json_append(in, kp_scalar_json(&trait->in[i]));
	return in;
}

json_t *kp_trait_json(const struct kp_trait *trait)
{
	json_t *out = json_object();
	int failed = 0;

	if (!out)
		return NULL;
	if (trait->n_in)
		failed |= json_object_set_new(out, "in", in_json(trait));
	if (trait->has_min)
		failed |= json_object_set_new(out, "min", number_json(trait->min));
	if (trait->has_max)
		failed |= json_object_set_new(out, "max", number_json(trait->max));
	if (trait->has_multiple)
		failed |= json_object_set_new(
			out, "multiple_of", number_json(trait->multiple_of));
	if (trait->required)
		failed |= json_object_set_new(out, "required", json_true());
	if (!failed)
		return out;
	json_decref(out);
	return NULL;
}
