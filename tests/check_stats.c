/* SPDX-License-Identifier: MIT */
/* Quantiles are those of the definition, and only of numbers. */
#include "lib/stats.h"
#include "tests/support/suite.h"

#include <check.h>
#include <math.h>

START_TEST(quantiles_are_interpolated)
{
	double samples[] = {11, 3, 1, 9, 7, 5, 13, 15, 17, 19, 21};
	struct kp_stats s;
	ck_assert(kp_stats_of(samples, 11, &s));
	ck_assert_uint_eq(s.count, 11);
	ck_assert_double_eq(s.min, 1);
	ck_assert_double_eq(s.p10, 3);
	ck_assert_double_eq(s.median, 11);
	ck_assert_double_eq(s.p90, 19);
	ck_assert_double_eq(s.max, 21);
	double four[] = {4, 2, 1, 3};
	ck_assert(kp_stats_of(four, 4, &s));
	ck_assert_double_eq(s.median, 2.5);
	ck_assert_double_eq_tol(s.p10, 1.3, 1e-12);
	ck_assert_double_eq_tol(s.p90, 3.7, 1e-12);
}
END_TEST

START_TEST(one_sample_is_all_quantiles)
{
	double samples[] = {2.5};
	struct kp_stats s;
	ck_assert(kp_stats_of(samples, 1, &s));
	ck_assert_double_eq(s.min, 2.5);
	ck_assert_double_eq(s.p10, 2.5);
	ck_assert_double_eq(s.median, 2.5);
	ck_assert_double_eq(s.p90, 2.5);
	ck_assert_double_eq(s.max, 2.5);
}
END_TEST

START_TEST(no_samples_and_no_numbers_have_no_quantiles)
{
	double bad[][3] = {{1, NAN, 2}, {1, 2, INFINITY}, {-INFINITY, 1, 2}};
	struct kp_stats s = {.count = 77};
	ck_assert(!kp_stats_of(NULL, 0, &s));
	for (int i = 0; i < 3; i++)
		ck_assert(!kp_stats_of(bad[i], 3, &s));
	ck_assert_uint_eq(s.count, 77);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stats");
	TCase *tcase = tcase_create("stats");
	tcase_add_test(tcase, quantiles_are_interpolated);
	tcase_add_test(tcase, one_sample_is_all_quantiles);
	tcase_add_test(tcase, no_samples_and_no_numbers_have_no_quantiles);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
