/* SPDX-License-Identifier: MIT */
/* Traits: what accepts what, and how both are shown. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/family/trait.h"
#include "tests/support/suite.h"

#define NUMBER(x) ((struct kp_scalar){KP_SCALAR_NUMBER, (x), NULL})
#define BOOL(x)	  ((struct kp_scalar){KP_SCALAR_BOOL, (x), NULL})
#define TEXT(x)	  ((struct kp_scalar){KP_SCALAR_TEXT, 0, (x)})

static bool accepts(const struct kp_trait *trait, struct kp_scalar value)
{
	return kp_trait_accepts(trait, &value);
}

START_TEST(a_multiple_is_exact_for_integers_and_their_halves)
{
	const double most = 9007199254740992.0;

	ck_assert(kp_scalar_is_multiple(64, 16));
	ck_assert(kp_scalar_is_multiple(0, 16));
	ck_assert(kp_scalar_is_multiple(-32, 16));
	ck_assert(!kp_scalar_is_multiple(65, 16));
	ck_assert(kp_scalar_is_multiple(most, 2));
	ck_assert(!kp_scalar_is_multiple(most - 1, 1073741825.0));
	ck_assert(kp_scalar_is_multiple(1.5, 0.5));
	ck_assert(!kp_scalar_is_multiple(1.25, 0.5));
}
END_TEST

START_TEST(nothing_is_a_multiple_of_what_is_not_positive)
{
	ck_assert(!kp_scalar_is_multiple(4, 0));
	ck_assert(!kp_scalar_is_multiple(4, -2));
	ck_assert(!kp_scalar_is_multiple(4, (double)NAN));
	ck_assert(!kp_scalar_is_multiple((double)INFINITY, 2));
	ck_assert(!kp_scalar_is_multiple((double)NAN, 2));
}
END_TEST

START_TEST(sl27_value_must_be_in_the_set)
{
	struct kp_scalar in[] = {NUMBER(64), NUMBER(128)};
	struct kp_trait trait = {.name = "head_dim", .n_in = 2, .in = in};
	ck_assert(accepts(&trait, NUMBER(64)));
	ck_assert(accepts(&trait, NUMBER(128)));
	ck_assert(!accepts(&trait, NUMBER(256)));
	ck_assert(!accepts(&trait, NUMBER(64.5)));
}
END_TEST

START_TEST(sl28_singleton_accepts_its_value_alone)
{
	struct kp_scalar in[] = {TEXT("causal")};
	struct kp_trait trait = {.name = "mask", .n_in = 1, .in = in};
	ck_assert(accepts(&trait, TEXT("causal")));
	ck_assert(!accepts(&trait, TEXT("none")));
	ck_assert(!accepts(&trait, TEXT("")));
}
END_TEST

START_TEST(kinds_are_never_mixed)
{
	struct kp_scalar one[] = {NUMBER(1)};
	struct kp_scalar yes[] = {BOOL(1)};
	struct kp_trait number = {.name = "x", .n_in = 1, .in = one};
	struct kp_trait boolean = {.name = "x", .n_in = 1, .in = yes};
	struct kp_trait bounded = {.name = "x", .has_min = true, .min = 0};
	ck_assert(!accepts(&number, BOOL(1)));
	ck_assert(!accepts(&number, TEXT("1")));
	ck_assert(!accepts(&boolean, NUMBER(1)));
	ck_assert(accepts(&boolean, BOOL(1)));
	ck_assert(!accepts(&bounded, TEXT("5")));
	ck_assert(!accepts(&bounded, BOOL(1)));
}
END_TEST

START_TEST(sl34_multiple_of_is_exact)
{
	struct kp_trait trait = {.name = "n", .has_multiple = true, .multiple_of = 16};
	ck_assert(accepts(&trait, NUMBER(32)));
	ck_assert(accepts(&trait, NUMBER(0)));
	ck_assert(!accepts(&trait, NUMBER(30)));
	ck_assert(!accepts(&trait, NUMBER(32.5)));
	ck_assert(accepts(&trait, NUMBER(9007199254740976)));
	ck_assert(!accepts(&trait, NUMBER(9007199254740977)));
}
END_TEST

START_TEST(both_ends_belong_to_the_range)
{
	struct kp_trait trait = {
		.name = "m", .has_min = true, .min = 1, .has_max = true, .max = 16};
	ck_assert(!accepts(&trait, NUMBER(0)));
	ck_assert(accepts(&trait, NUMBER(1)));
	ck_assert(accepts(&trait, NUMBER(16)));
	ck_assert(!accepts(&trait, NUMBER(16.5)));
}
END_TEST

START_TEST(all_that_is_said_must_hold)
{
	struct kp_scalar in[] = {NUMBER(16), NUMBER(24), NUMBER(64)};
	struct kp_trait trait = {.name = "m",
		.has_min = true,
		.min = 17,
		.n_in = 3,
		.in = in,
		.has_multiple = true,
		.multiple_of = 16};
	ck_assert(!accepts(&trait, NUMBER(16)));
	ck_assert(!accepts(&trait, NUMBER(24)));
	ck_assert(!accepts(&trait, NUMBER(32)));
	ck_assert(accepts(&trait, NUMBER(64)));
}
END_TEST

START_TEST(trait_without_conditions_accepts_every_kind)
{
	struct kp_trait trait = {.name = "x"};
	ck_assert(accepts(&trait, NUMBER(-1)));
	ck_assert(accepts(&trait, BOOL(0)));
	ck_assert(accepts(&trait, TEXT("x")));
}
END_TEST

static const struct {
	struct kp_scalar value;
	const char *text;
} shown[] = {
	{{KP_SCALAR_NUMBER, 64, NULL}, "64"},
	{{KP_SCALAR_NUMBER, 0, NULL}, "0"},
	{{KP_SCALAR_NUMBER, -3, NULL}, "-3"},
	{{KP_SCALAR_NUMBER, 16.5, NULL}, "16.5"},
	{{KP_SCALAR_NUMBER, 0.1, NULL}, "0.1"},
	{{KP_SCALAR_NUMBER, 1.0 / 3, NULL}, "0.33333333333333331"},
	{{KP_SCALAR_NUMBER, 9007199254740992.0, NULL}, "9007199254740992"},
	{{KP_SCALAR_NUMBER, 1e300, NULL}, "1e+300"},
	{{KP_SCALAR_BOOL, 1, NULL}, "true"},
	{{KP_SCALAR_BOOL, 0, NULL}, "false"},
	{{KP_SCALAR_TEXT, 0, "causal"}, "causal"},
};
enum { SHOWN = sizeof(shown) / sizeof(shown[0]) };

START_TEST(scalar_prints_as_people_write_it)
{
	char out[64];
	ck_assert_str_eq(
		kp_scalar_print(&shown[_i].value, out, sizeof(out)), shown[_i].text);
}
END_TEST

START_TEST(scalar_survives_json)
{
	struct kp_scalar back;
	struct kp_diag diag;
	json_t *value = kp_scalar_json(&shown[_i].value);
	ck_assert_int_eq(kp_scalar_from_json(value, "x", &back, &diag), 0);
	ck_assert(kp_scalar_equal(&back, &shown[_i].value));
	json_decref(value);
}
END_TEST

static const char *const no_scalars[] = {"null", "[]", "{}", "9007199254740993",
	"-9007199254740993", "9223372036854775807"};
enum { NO_SCALARS = sizeof(no_scalars) / sizeof(no_scalars[0]) };

START_TEST(value_that_is_no_scalar_is_refused_by_its_path)
{
	struct kp_scalar scalar;
	struct kp_diag diag;
	json_t *value = json_loads(no_scalars[_i], JSON_DECODE_ANY, NULL);
	ck_assert_int_eq(kp_scalar_from_json(value, "traits.d", &scalar, &diag), -1);
	ck_assert_str_eq(diag.code, "wrong_type");
	ck_assert_str_eq(diag.object, "traits.d");
	json_decref(value);
}
END_TEST

START_TEST(trait_prints_all_conditions)
{
	struct kp_scalar in[] = {NUMBER(64), NUMBER(128)};
	struct kp_trait all = {.name = "d",
		.n_in = 2,
		.in = in,
		.has_min = true,
		.min = 64,
		.has_max = true,
		.max = 128,
		.has_multiple = true,
		.multiple_of = 16};
	struct kp_trait one = {.name = "d", .has_multiple = true, .multiple_of = 16};
	struct kp_trait none = {.name = "d"};
	char out[128], small[10];
	ck_assert_str_eq(kp_trait_print(&all, out, sizeof(out)),
		"in {64, 128} and >= 64 and <= 128 and multiple of 16");
	ck_assert_str_eq(kp_trait_print(&one, out, sizeof(out)), "multiple of 16");
	ck_assert_str_eq(kp_trait_print(&none, out, sizeof(out)), "any value");
	ck_assert_str_eq(kp_trait_print(&all, small, sizeof(small)), "in {64, 1");
}
END_TEST

START_TEST(trait_goes_back_to_the_form_of_the_note)
{
	struct kp_scalar in[] = {NUMBER(64), NUMBER(0.5)};
	struct kp_trait trait = {.name = "d",
		.required = true,
		.n_in = 2,
		.in = in,
		.has_min = true,
		.min = 1,
		.has_max = true,
		.max = 2.5,
		.has_multiple = true,
		.multiple_of = 8};
	json_t *expected = json_loads("{\"in\":[64,0.5],\"min\":1,\"max\":2.5,"
				      "\"multiple_of\":8,\"required\":true}",
		0, NULL);
	json_t *made = kp_trait_json(&trait);
	ck_assert(json_equal(made, expected));
	json_decref(made);
	json_decref(expected);
	struct kp_trait none = {.name = "d"};
	made = kp_trait_json(&none);
	ck_assert_uint_eq(json_object_size(made), 0);
	json_decref(made);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("trait");
	tcase_add_test(tcase, a_multiple_is_exact_for_integers_and_their_halves);
	tcase_add_test(tcase, nothing_is_a_multiple_of_what_is_not_positive);
	tcase_add_test(tcase, sl27_value_must_be_in_the_set);
	tcase_add_test(tcase, sl28_singleton_accepts_its_value_alone);
	tcase_add_test(tcase, kinds_are_never_mixed);
	tcase_add_test(tcase, sl34_multiple_of_is_exact);
	tcase_add_test(tcase, both_ends_belong_to_the_range);
	tcase_add_test(tcase, all_that_is_said_must_hold);
	tcase_add_test(tcase, trait_without_conditions_accepts_every_kind);
	tcase_add_loop_test(tcase, scalar_prints_as_people_write_it, 0, SHOWN);
	tcase_add_loop_test(tcase, scalar_survives_json, 0, SHOWN);
	tcase_add_loop_test(
		tcase, value_that_is_no_scalar_is_refused_by_its_path, 0, NO_SCALARS);
	tcase_add_test(tcase, trait_prints_all_conditions);
	tcase_add_test(tcase, trait_goes_back_to_the_form_of_the_note);
	Suite *suite = suite_create("trait");
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
