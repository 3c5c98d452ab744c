/* SPDX-License-Identifier: MIT */
/* Accounts of refused calls: told one by one within bounds, counted beyond them. */
#include <check.h>
#include <pwd.h>
#include <string.h>

#include "daemon/audit.h"
#include "tests/support/suite.h"

static struct audit_bounds bounds;

static void setup(void)
{
	bounds = (struct audit_bounds){0};
}

static size_t ask(unsigned uid, uint64_t now, size_t times, size_t *untold)
{
	size_t told = 0, once;

	*untold = 0;
	for (size_t i = 0; i < times; i++) {
		told += audit_may_tell(&bounds, uid, now, &once);
		*untold += once;
	}
	return told;
}

START_TEST(one_who_is_refused_again_and_again_is_told_so_often_and_then_counted)
{
	size_t untold;

	ck_assert_uint_eq(ask(1000, 5, 100, &untold), AUDIT_REFUSED);
	ck_assert_uint_eq(untold, 0);
	ck_assert_uint_eq(ask(1000, 5 + AUDIT_WINDOW_MS - 1, 10, &untold), 0);
	ck_assert_uint_eq(ask(1000, 5 + AUDIT_WINDOW_MS, 1, &untold), 1);
	ck_assert_uint_eq(untold, 110 - AUDIT_REFUSED);
	ck_assert_uint_eq(ask(1000, 5 + 2 * AUDIT_WINDOW_MS, 1, &untold), 1);
	ck_assert_uint_eq(untold, 0);
}
END_TEST

START_TEST(nobody_uses_up_what_another_user_has)
{
	size_t untold;

	for (unsigned uid = 1; uid <= AUDIT_USERS; uid++)
		ck_assert_uint_eq(ask(uid, uid, 100, &untold), AUDIT_REFUSED);
	for (unsigned uid = 1; uid <= AUDIT_USERS; uid++)
		ck_assert_uint_eq(ask(uid, AUDIT_USERS, 100, &untold), 0);
}
END_TEST

START_TEST(of_more_users_than_are_remembered_the_one_of_longest_ago_gives_way)
{
	size_t untold;

	for (unsigned uid = 1; uid <= AUDIT_USERS + 1; uid++)
		ck_assert_uint_eq(ask(uid, uid, 100, &untold), AUDIT_REFUSED);
	ck_assert_uint_eq(ask(2, AUDIT_USERS + 2, 1, &untold), 0);
	ck_assert_uint_eq(ask(1, AUDIT_USERS + 2, 1, &untold), 1);
}
END_TEST

START_TEST(the_name_of_a_user_is_that_of_the_system_or_none)
{
	const struct passwd *root = getpwuid(0);
	char name[64], short_name[3];

	ck_assert_ptr_nonnull(root);
	ck_assert_str_eq(audit_user(0, name, sizeof(name)), root->pw_name);
	ck_assert_str_eq(audit_user(4000000123U, name, sizeof(name)), "");
	ck_assert_uint_eq(strlen(audit_user(0, short_name, sizeof(short_name))), 2);
}
END_TEST

START_TEST(what_changes_nothing_has_no_account)
{
	const char *const changing[] = {"Disable", "Enable", "Pin", "Unpin", "Guard",
		"Rollback", "Load", "Unload", "Reload", "Retry"};

	for (size_t i = 0; i < sizeof(changing) / sizeof(changing[0]); i++)
		ck_assert_msg(audit_is_of(changing[i]), "%s", changing[i]);
	ck_assert(!audit_is_of("List"));
	ck_assert(!audit_is_of("Status"));
	ck_assert(!audit_is_of(""));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("audit");
	TCase *tcase = tcase_create("audit");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase,
		one_who_is_refused_again_and_again_is_told_so_often_and_then_counted);
	tcase_add_test(tcase, nobody_uses_up_what_another_user_has);
	tcase_add_test(tcase,
		of_more_users_than_are_remembered_the_one_of_longest_ago_gives_way);
	tcase_add_test(tcase, the_name_of_a_user_is_that_of_the_system_or_none);
	tcase_add_test(tcase, what_changes_nothing_has_no_account);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
