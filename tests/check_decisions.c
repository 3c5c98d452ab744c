/* SPDX-License-Identifier: MIT */
/* What operators decided is kept in order, and nothing else is. */
#include "lib/registry/decisions.h"
#include "lib/registry/decisions_index.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void disable(
	struct kp_decisions *d, const char *name, const char *reason, bool runtime)
{
	bool changed;
	ck_assert_int_eq(kp_decisions_disable(
				 d, name, reason, 1700000000, 1000, runtime, &changed),
		0);
}

START_TEST(disabled_names_are_in_byte_order)
{
	struct kp_decisions d = {0};
	disable(&d, "zeta", "", false);
	disable(&d, "alpha/mm", "", false);
	disable(&d, "alpha", "slow", false);
	disable(&d, "Beta", "", true);
	ck_assert_uint_eq(d.n_disabled, 4);
	ck_assert_str_eq(d.disabled[0].name, "Beta");
	ck_assert_str_eq(d.disabled[1].name, "alpha");
	ck_assert_str_eq(d.disabled[2].name, "alpha/mm");
	ck_assert_str_eq(d.disabled[3].name, "zeta");
	ck_assert_str_eq(kp_decisions_find(&d, "alpha")->reason, "slow");
	ck_assert_ptr_null(kp_decisions_find(&d, "alph"));
	kp_decisions_finish(&d);
}
END_TEST

START_TEST(enabling_a_plugin_leaves_its_kernels_disabled)
{
	struct kp_decisions d = {0};
	disable(&d, "x", "", false);
	disable(&d, "x/mm", "", false);
	ck_assert(kp_decisions_enable(&d, "x"));
	ck_assert(!kp_decisions_enable(&d, "x"));
	ck_assert_ptr_null(kp_decisions_find(&d, "x"));
	ck_assert_ptr_nonnull(kp_decisions_find(&d, "x/mm"));
	kp_decisions_finish(&d);
}
END_TEST

START_TEST(disabling_again_replaces_the_reason_and_says_so)
{
	struct kp_decisions d = {0};
	bool changed;
	ck_assert_int_eq(kp_decisions_disable(&d, "x", NULL, 1, 2, false, &changed), 0);
	ck_assert(changed);
	ck_assert_str_eq(d.disabled[0].reason, "");
	ck_assert_int_eq(kp_decisions_disable(&d, "x", "", 9, 9, false, &changed), 0);
	ck_assert(!changed);
	ck_assert_int_eq(d.disabled[0].at, 1);
	ck_assert_int_eq(
		kp_decisions_disable(&d, "x", "crashes", 5, 6, false, &changed), 0);
	ck_assert(changed);
	ck_assert_str_eq(d.disabled[0].reason, "crashes");
	ck_assert_int_eq(d.disabled[0].at, 5);
	ck_assert_uint_eq(d.disabled[0].uid, 6);
	kp_decisions_finish(&d);
}
END_TEST

static const char *const no_reason[] = {NULL, ""};

START_TEST(disabling_again_without_a_reason_keeps_the_one_there_is)
{
	struct kp_decisions d = {0};
	bool changed = true;
	disable(&d, "x", "crashes", _i >= 2);
	ck_assert_int_eq(
		kp_decisions_disable(&d, "x", no_reason[_i % 2], 5, 6, _i >= 2, &changed),
		0);
	ck_assert(!changed);
	ck_assert_str_eq(d.disabled[0].reason, "crashes");
	ck_assert_int_eq(d.disabled[0].at, 1700000000);
	ck_assert_uint_eq(d.disabled[0].uid, 1000);
	/* Only that it is kept from now on is different. */
	ck_assert_int_eq(
		kp_decisions_disable(&d, "x", no_reason[_i % 2], 5, 6, false, &changed),
		0);
	ck_assert(changed == (_i >= 2));
	ck_assert_str_eq(d.disabled[0].reason, "crashes");
	ck_assert(!d.disabled[0].runtime);
	kp_decisions_finish(&d);
}
END_TEST

START_TEST(runtime_never_weakens_what_is_kept)
{
	struct kp_decisions d = {0};
	bool changed;
	disable(&d, "kept", "crashes", false);
	ck_assert_int_eq(
		kp_decisions_disable(&d, "kept", "again", 1, 1, true, &changed), 0);
	ck_assert(!changed);
	ck_assert(!d.disabled[0].runtime);
	ck_assert_str_eq(d.disabled[0].reason, "crashes");
	ck_assert_int_eq(d.disabled[0].at, 1700000000);
	disable(&d, "now", "", true);
	ck_assert_int_eq(kp_decisions_disable(&d, "now", "", 1, 1, false, &changed), 0);
	ck_assert(changed);
	ck_assert(!kp_decisions_find(&d, "now")->runtime);
	kp_decisions_finish(&d);
}
END_TEST

START_TEST(a_pin_is_set_replaced_and_removed)
{
	struct kp_decisions d = {0};
	bool changed;
	ck_assert_int_eq(
		kp_decisions_pin(&d, "gemm/mm", "x86/mm", false, 1, 0, &changed), 0);
	ck_assert_int_eq(
		kp_decisions_pin(&d, "norm/rms", "x86/rms", false, 1, 0, &changed), 0);
	ck_assert_int_eq(
		kp_decisions_pin(&d, "attention/decode", "flash", false, 1, 0, &changed),
		0);
	ck_assert_str_eq(d.pins[0].operation, "attention/decode");
	ck_assert_int_eq(
		kp_decisions_pin(&d, "gemm/mm", "x86/mm", false, 7, 0, &changed), 0);
	ck_assert(!changed);
	ck_assert_int_eq(
		kp_decisions_pin(&d, "gemm/mm", "openblas", false, 7, 0, &changed), 0);
	ck_assert(changed);
	ck_assert_str_eq(d.pins[1].choice, "openblas");
	ck_assert_int_eq(d.pins[1].at, 7);
	ck_assert_int_eq(kp_decisions_pin(&d, "gemm/mm", NULL, false, 8, 0, &changed), 0);
	ck_assert(changed);
	ck_assert_uint_eq(d.n_pins, 2);
	ck_assert_int_eq(kp_decisions_pin(&d, "gemm/mm", NULL, false, 8, 0, &changed), 0);
	ck_assert(!changed);
	kp_decisions_finish(&d);
}
END_TEST

static const struct kp_disabled *find_library(const struct kp_decisions *d,
	const char *digest, const char *package, const char *kernel)
{
	struct kp_decisions_index index = {0};
	ck_assert_int_eq(kp_decisions_index_make(&index, d), 0);
	const struct kp_disabled *found =
		kp_decisions_find_library(&index, d, digest, package, kernel);
	kp_decisions_index_finish(&index);
	return found;
}

START_TEST(t48_a_library_is_found_under_every_other_name)
{
	struct kp_decisions d = {0};
	bool changed = false;
	disable(&d, "x", "", false);
	disable(&d, "x/mm", "", false);
	disable(&d, "xy", "", false);
	ck_assert_ptr_null(find_library(&d, "", "", NULL));
	ck_assert_int_eq(kp_decisions_identify(&d, "x", "d1", "", &changed), 0);
	ck_assert(changed);
	ck_assert_ptr_null(kp_decisions_find(&d, "xy")->digest);
	changed = false;
	ck_assert_int_eq(kp_decisions_identify(&d, "x", "d2", NULL, &changed), 0);
	ck_assert(!changed);
	ck_assert_int_eq(kp_decisions_identify(&d, "x", "d2", "pkg", &changed), 0);
	ck_assert(changed);
	ck_assert_str_eq(find_library(&d, "d1", "", NULL)->name, "x");
	ck_assert_str_eq(find_library(&d, "d9", "pkg", NULL)->name, "x");
	ck_assert_str_eq(find_library(&d, "d1", NULL, "mm")->name, "x/mm");
	ck_assert_ptr_null(find_library(&d, "d1", "pkg", "other"));
	ck_assert_ptr_null(find_library(&d, "d2", "other", NULL));
	ck_assert(kp_decisions_enable(&d, "x"));
	ck_assert_ptr_null(find_library(&d, "d1", "pkg", NULL));
	kp_decisions_finish(&d);
}
END_TEST

static void rule(struct kp_decisions *d, const char *operation, const char *solution,
	const char *reason, bool runtime, bool *changed)
{
	ck_assert_int_eq(
		kp_decisions_rule(d, operation, solution, reason, 5, 7, runtime, changed),
		0);
}

START_TEST(a_rule_is_found_by_operation_and_solution_and_by_nothing_else)
{
	struct kp_decisions d = {0};
	bool changed = false;
	rule(&d, "norm/rms", "fast", "NaN", false, &changed);
	ck_assert(changed);
	rule(&d, "gemm/mm", "fast", NULL, false, &changed);
	rule(&d, "gemm/mm", "fast", "", false, &changed);
	ck_assert(!changed);
	ck_assert_uint_eq(d.n_rules, 2);
	ck_assert_str_eq(d.rules[0].name, "gemm/mm/fast");
	ck_assert_str_eq(kp_decisions_find_rule(&d, "norm/rms", "fast")->reason, "NaN");
	ck_assert_ptr_null(kp_decisions_find_rule(&d, "norm/rms", "faster"));
	ck_assert_ptr_null(kp_decisions_find_rule(&d, "norm/rm", "fast"));
	ck_assert_ptr_null(kp_decisions_find_rule(&d, "norm/rms", ""));
	ck_assert_ptr_null(kp_decisions_find_rule(&d, "norm/rms", NULL));
	ck_assert(kp_decisions_unrule(&d, "norm/rms", "fast"));
	ck_assert(!kp_decisions_unrule(&d, "norm/rms", "fast"));
	ck_assert_uint_eq(d.n_rules, 1);
	kp_decisions_finish(&d);
}
END_TEST

START_TEST(a_rule_until_the_end_never_weakens_one_for_good)
{
	struct kp_decisions d = {0};
	bool changed;
	rule(&d, "gemm/mm", "fast", "", true, &changed);
	ck_assert(d.rules[0].runtime);
	rule(&d, "gemm/mm", "fast", "slow", false, &changed);
	ck_assert(changed && !d.rules[0].runtime);
	rule(&d, "gemm/mm", "fast", "other", true, &changed);
	ck_assert(!changed && !d.rules[0].runtime);
	ck_assert_str_eq(d.rules[0].reason, "slow");
	kp_decisions_finish(&d);
}
END_TEST

START_TEST(a_copy_has_all_of_it)
{
	struct kp_decisions d = {0};
	struct kp_decisions copy;
	bool changed;
	disable(&d, "x", "slow", true);
	disable(&d, "y/mm", "", false);
	ck_assert_int_eq(kp_decisions_identify(&d, "x", "d1", "pkg", &changed), 0);
	ck_assert_int_eq(
		kp_decisions_pin(&d, "gemm/mm", "x86/mm", false, 42, 7, &changed), 0);
	ck_assert_int_eq(
		kp_decisions_pin(&d, "norm/rms", "fast", true, 43, 7, &changed), 0);
	rule(&d, "gemm/mm", "slow", "why", true, &changed);
	ck_assert_int_eq(kp_decisions_prove(&d, "neon/mm", true, &changed), 0);
	ck_assert_int_eq(kp_decisions_copy(&d, &copy), 0);
	kp_decisions_finish(&d);
	ck_assert(copy.disabled[0].runtime);
	ck_assert_str_eq(copy.disabled[0].reason, "slow");
	ck_assert_str_eq(copy.disabled[0].digest, "d1");
	ck_assert_str_eq(copy.disabled[0].package, "pkg");
	ck_assert_ptr_null(kp_decisions_find(&copy, "y/mm")->digest);
	ck_assert_str_eq(copy.pins[0].choice, "x86/mm");
	ck_assert(!copy.pins[0].force && copy.pins[1].force);
	ck_assert_str_eq(copy.rules[0].reason, "why");
	ck_assert_uint_eq(copy.rules[0].uid, 7);
	ck_assert(copy.rules[0].runtime);
	ck_assert(kp_decisions_is_proven(&copy, "neon/mm"));
	kp_decisions_finish(&copy);
}
END_TEST

START_TEST(an_unproven_kernel_is_remembered_until_taken_back)
{
	struct kp_decisions d = {0};
	bool changed;
	ck_assert_int_eq(kp_decisions_prove(&d, "x/mm", true, &changed), 0);
	ck_assert(changed);
	ck_assert_int_eq(kp_decisions_prove(&d, "x/mm", true, &changed), 0);
	ck_assert(!changed);
	ck_assert(kp_decisions_is_proven(&d, "x/mm"));
	ck_assert(!kp_decisions_is_proven(&d, "x"));
	ck_assert_int_eq(kp_decisions_prove(&d, "x/mm", false, &changed), 0);
	ck_assert(changed);
	ck_assert(!kp_decisions_is_proven(&d, "x/mm"));
	kp_decisions_finish(&d);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("decisions");
	TCase *tcase = tcase_create("decisions");
	tcase_add_test(
		tcase, a_rule_is_found_by_operation_and_solution_and_by_nothing_else);
	tcase_add_test(tcase, a_rule_until_the_end_never_weakens_one_for_good);
	tcase_add_test(tcase, disabled_names_are_in_byte_order);
	tcase_add_test(tcase, enabling_a_plugin_leaves_its_kernels_disabled);
	tcase_add_test(tcase, disabling_again_replaces_the_reason_and_says_so);
	tcase_add_loop_test(
		tcase, disabling_again_without_a_reason_keeps_the_one_there_is, 0, 4);
	tcase_add_test(tcase, t48_a_library_is_found_under_every_other_name);
	tcase_add_test(tcase, a_copy_has_all_of_it);
	tcase_add_test(tcase, runtime_never_weakens_what_is_kept);
	tcase_add_test(tcase, a_pin_is_set_replaced_and_removed);
	tcase_add_test(tcase, an_unproven_kernel_is_remembered_until_taken_back);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
