/* SPDX-License-Identifier: MIT */
/* Strikes are counted by kernel, library and user, within bounds. */
#include "daemon/incident/strikes.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/suite.h"

enum { DAY = 86400 };

START_TEST(those_within_the_window_count)
{
	struct strikes s = {0};

	ck_assert_uint_eq(strikes_add(&s, "a/k", "d", 5, 1000, 100), 1);
	ck_assert_uint_eq(strikes_add(&s, "a/k", "d", 5, 1050, 100), 2);
	ck_assert_uint_eq(strikes_add(&s, "a/k", "d", 5, 1099, 100), 3);
	ck_assert_uint_eq(strikes_add(&s, "a/k", "d", 5, 1120, 100), 3);
	ck_assert_uint_eq(strikes_add(&s, "a/k", "d", 5, 5000, 100), 1);
	strikes_finish(&s);
}
END_TEST

START_TEST(each_kernel_library_and_user_has_its_own)
{
	struct strikes s = {0};

	ck_assert_uint_eq(strikes_add(&s, "a/k", "d", 5, 1, DAY), 1);
	ck_assert_uint_eq(strikes_add(&s, "a/l", "d", 5, 1, DAY), 1);
	ck_assert_uint_eq(strikes_add(&s, "a/k", "e", 5, 1, DAY), 1);
	ck_assert_uint_eq(strikes_add(&s, "a/k", "d", 6, 1, DAY), 1);
	ck_assert_uint_eq(strikes_add(&s, "a/k", "d", STRIKES_MACHINE, 1, DAY), 1);
	ck_assert_uint_eq(strikes_add(&s, "a/k", "d", 5, 1, DAY), 2);
	strikes_finish(&s);
}
END_TEST

START_TEST(a_name_is_forgotten_for_one_or_for_all)
{
	struct strikes s = {0};

	(void)strikes_add(&s, "a/k", "d", 5, 1, DAY);
	(void)strikes_add(&s, "a/l", "d", 5, 1, DAY);
	(void)strikes_add(&s, "a/k", "d", 6, 1, DAY);
	(void)strikes_add(&s, "ab/k", "d", 5, 1, DAY);
	ck_assert_uint_eq(strikes_forget(&s, "a/k", 5, 0), 1);
	ck_assert_uint_eq(strikes_forget(&s, "a", 0, 1), 2);
	ck_assert_uint_eq(strikes_forget(&s, "a", 0, 1), 0);
	ck_assert_uint_eq(s.count, 1);
	strikes_finish(&s);
}
END_TEST

START_TEST(one_user_takes_no_more_than_a_share)
{
	struct strikes s = {0};
	char kernel[32];

	ck_assert_uint_eq(strikes_add(&s, "mine/k", "d", 1, 1, DAY), 1);
	for (int i = 0; i < 3000; i++) {
		(void)snprintf(kernel, sizeof(kernel), "p/k%d", i);
		(void)strikes_add(&s, kernel, "d", 7, 10 + i, DAY);
	}
	ck_assert_uint_eq(s.count, 1 + STRIKES_OF_USER);
	ck_assert_uint_eq(strikes_add(&s, "mine/k", "d", 1, 2, DAY), 2);
	/* The last ones are there, the first have given way. */
	ck_assert_uint_eq(strikes_add(&s, "p/k2999", "d", 7, 3010, DAY), 2);
	ck_assert_uint_eq(strikes_add(&s, "p/k0", "d", 7, 3010, DAY), 1);
	for (int user = 100; user < 3000; user++)
		(void)strikes_add(&s, "p/k", "d", user, 4000, DAY);
	ck_assert_uint_eq(s.count, STRIKES_MOST);
	strikes_finish(&s);
}
END_TEST

START_TEST(many_users_take_nothing_from_the_machine_or_from_who_has_little)
{
	struct strikes s = {0};
	char kernel[32];

	(void)strikes_add(&s, "machine/k", "d", STRIKES_MACHINE, 1, DAY);
	(void)strikes_add(&s, "machine/l", "d", STRIKES_MACHINE, 1, DAY);
	(void)strikes_add(&s, "little/k", "d", 5, 1, DAY);
	for (int i = 0; i < 40 * 100; i++) {
		(void)snprintf(kernel, sizeof(kernel), "p/k%d", i % 100);
		(void)strikes_add(&s, kernel, "d", 1000 + i / 100, 10 + i, DAY);
	}
	ck_assert_uint_eq(s.count, STRIKES_MOST + 2);
	ck_assert_uint_eq(strikes_add(&s, "machine/k", "d", STRIKES_MACHINE, 9, DAY), 2);
	ck_assert_uint_eq(strikes_add(&s, "machine/l", "d", STRIKES_MACHINE, 9, DAY), 2);
	ck_assert_uint_eq(strikes_add(&s, "little/k", "d", 5, 9, DAY), 2);
	strikes_finish(&s);
}
END_TEST

START_TEST(names_that_are_none_are_not_kept)
{
	struct strikes s = {0};
	char name[400];

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	ck_assert_uint_eq(strikes_add(&s, name, "d", 5, 1, DAY), 1);
	ck_assert_uint_eq(strikes_add(&s, "a/k", name, 5, 1, DAY), 1);
	ck_assert_uint_eq(s.count, 0);
	strikes_finish(&s);
}
END_TEST

START_TEST(what_was_written_is_read)
{
	struct strikes s = {0}, read = {0};

	for (int i = 0; i < 2 * STRIKES_COUNTED; i++)
		(void)strikes_add(&s, "a/k", "d", STRIKES_MACHINE, i, DAY);
	(void)strikes_add(&s, "b/k", "", 4294967295, 3, DAY);
	json_t *list = strikes_json(&s);
	ck_assert_int_eq(strikes_read(&read, list), 0);
	json_t *again = strikes_json(&read);
	ck_assert(json_equal(list, again));
	ck_assert_uint_eq(strikes_add(&read, "b/k", "", 4294967295, 4, DAY), 2);
	json_decref(list);
	json_decref(again);
	strikes_finish(&s);
	strikes_finish(&read);
}
END_TEST

START_TEST(what_is_no_list_of_strikes_changes_nothing)
{
	static const char *const texts[] = {"[1]", "[{}]", "[{\"kernel\": 1}]",
		"[{\"kernel\": \"a/k\", \"sha256\": \"d\", \"uid\": \"x\", \"at\": []}]"};
	struct strikes s = {0};
	json_t *list = json_loads(texts[_i], 0, NULL);

	(void)strikes_add(&s, "a/k", "d", 5, 1, DAY);
	ck_assert_int_eq(strikes_read(&s, list), -1);
	ck_assert_uint_eq(strikes_add(&s, "a/k", "d", 5, 1, DAY), 2);
	json_decref(list);
	strikes_finish(&s);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("strikes");
	TCase *all = tcase_create("all");

	tcase_add_test(all, those_within_the_window_count);
	tcase_add_test(all, each_kernel_library_and_user_has_its_own);
	tcase_add_test(all, a_name_is_forgotten_for_one_or_for_all);
	tcase_add_test(all, one_user_takes_no_more_than_a_share);
	tcase_add_test(
		all, many_users_take_nothing_from_the_machine_or_from_who_has_little);
	tcase_add_test(all, names_that_are_none_are_not_kept);
	tcase_add_test(all, what_was_written_is_read);
	tcase_add_loop_test(all, what_is_no_list_of_strikes_changes_nothing, 0, 4);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
