/* SPDX-License-Identifier: MIT */
/* Times of files are anybody's: whatever they are, they are compared without harm. */
#include <check.h>
#include <stdint.h>

#include "daemon/scan/sighting.h"
#include "daemon/scan/stamp.h"
#include "tests/support/suite.h"

static const int64_t now = INT64_C(1700000000000000000);

static struct stamp stamp_of(time_t seconds)
{
	struct stat st = {.st_mtim.tv_sec = seconds, .st_ctim.tv_sec = seconds};
	struct stamp stamp;

	stamp_from_stat(&st, &stamp);
	return stamp;
}

START_TEST(times_beyond_what_nanoseconds_hold_are_the_last_there_are)
{
	ck_assert_int_eq(stamp_of(INT64_MAX).mtime, INT64_MAX);
	ck_assert_int_eq(stamp_of(INT64_C(1) << 40).mtime, INT64_MAX);
	ck_assert_int_eq(stamp_of(INT64_MIN).mtime, INT64_MIN);
	ck_assert_int_eq(stamp_of(1).mtime, 1000000000);
}
END_TEST

START_TEST(an_age_that_no_number_holds_is_the_most_or_the_least)
{
	ck_assert_int_eq(stamp_age(now, INT64_MIN), INT64_MAX);
	ck_assert_int_eq(stamp_age(-5, INT64_MAX), INT64_MIN);
	ck_assert_int_eq(stamp_age(now, now - 7), 7);
}
END_TEST

START_TEST(a_file_of_long_ago_or_of_the_far_future_is_not_waited_for)
{
	const time_t times[] = {INT64_MIN, -1, 0, INT64_C(1) << 40, INT64_MAX};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct stamp stamp = stamp_of(times[i]);
		ck_assert_uint_eq(stamp_settles_in(&stamp, now), 0);
		ck_assert_int_eq(sighting_is_old(&stamp, now), times[i] <= 0);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stamp");
	TCase *tcase = tcase_create("stamp");

	tcase_add_test(tcase, times_beyond_what_nanoseconds_hold_are_the_last_there_are);
	tcase_add_test(tcase, an_age_that_no_number_holds_is_the_most_or_the_least);
	tcase_add_test(tcase, a_file_of_long_ago_or_of_the_far_future_is_not_waited_for);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
