/* SPDX-License-Identifier: MIT */
/* Quantiles are those of the definition, and only of numbers. */
#include "lib/base/stats.h"
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

/* Order statistics of 1..n whose binomial tails are in printed tables. */
START_TEST(interval_of_the_median_is_that_of_the_binomial_table)
{
	static const struct {
		size_t n;
		double low, high;
	} rows[] = {{1, 1, 1}, {5, 1, 5}, {6, 1, 6}, {8, 1, 8}, {9, 2, 8}, {10, 2, 9},
		{12, 3, 10}, {50, 18, 33}, {70, 27, 44}};
	double samples[70];
	struct kp_stats s;
	for (size_t n = 0; n < rows[_i].n; n++)
		samples[n] = (double)(rows[_i].n - n);
	ck_assert(kp_stats_of(samples, rows[_i].n, &s));
	ck_assert_double_eq(s.low, rows[_i].low);
	ck_assert_double_eq(s.high, rows[_i].high);
}
END_TEST

START_TEST(interval_of_many_samples_narrows_with_their_root)
{
	static double samples[65536];
	struct kp_stats s;
	for (size_t i = 0; i < 65536; i++)
		samples[i] = (double)i;
	ck_assert(kp_stats_of(samples, 65536, &s));
	/* 1.96 sqrt(n) / 2 on either side. */
	ck_assert_double_eq_tol(s.low, 32768 - 251, 2);
	ck_assert_double_eq_tol(s.high, 32768 + 250, 2);
}
END_TEST

START_TEST(deviation_is_the_median_of_the_distances)
{
	double odd[] = {1, 1, 2, 2, 4, 6, 9};
	double even[] = {1, 2, 3, 40};
	double alike[] = {7, 7, 7};
	struct kp_stats s;
	ck_assert(kp_stats_of(odd, 7, &s));
	ck_assert_double_eq(s.mad, 1);
	ck_assert(kp_stats_of(even, 4, &s));
	ck_assert_double_eq(s.mad, 1);
	ck_assert(kp_stats_of(alike, 3, &s));
	ck_assert_double_eq(s.mad, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stats");
	TCase *tcase = tcase_create("stats");
	tcase_add_test(tcase, quantiles_are_interpolated);
	tcase_add_test(tcase, one_sample_is_all_quantiles);
	tcase_add_test(tcase, no_samples_and_no_numbers_have_no_quantiles);
	tcase_add_loop_test(
		tcase, interval_of_the_median_is_that_of_the_binomial_table, 0, 9);
	tcase_add_test(tcase, interval_of_many_samples_narrows_with_their_root);
	tcase_add_test(tcase, deviation_is_the_median_of_the_distances);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
