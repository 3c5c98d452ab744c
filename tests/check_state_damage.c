/* SPDX-License-Identifier: MIT */
/* Decisions that are damaged: what is right of them holds, the rest is said and kept. */
#include "daemon/state/state.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/state_place.h"
#include "tests/support/suite.h"

static const char *const damaged[] = {
	"",
	"{",
	"[]",
	"{\"format\": \"kplug-table/1\"}",
	"{\"disabled\": []}",
	"\xff\xfe",
};

START_TEST(damaged_decisions_are_set_aside_and_reported)
{
	put("decisions.json", damaged[_i]);
	ck_assert_int_eq(state_decisions(state, &decisions, &warnings, &diag), 0);
	ck_assert_uint_eq(decisions.n_disabled, 0);
	ck_assert_uint_eq(warnings.count, 1);
	ck_assert_str_eq(warnings.items[0].code, "damaged_state");
	ck_assert(!is_there("decisions.json"));
	ck_assert(is_there("decisions.json.damaged"));
}
END_TEST

#define ENTRY(name) "{\"name\":\"" name "\",\"reason\":\"\",\"at\":1,\"uid\":0}"
#define FILE_OF(disabled)                                                                \
	"{\"format\":\"kplug-decisions/1\",\"disabled\":[" disabled                      \
	"],\"pins\":[],\"enabled\":[]}"

static const struct {
	const char *text, *path;
	size_t right;
} partly[] = {
	{FILE_OF(ENTRY("a") ",{\"name\":\"b\",\"reason\":\"\",\"at\":\"x\",\"uid\":0}"),
		"disabled[1].at", 1},
	{FILE_OF("7," ENTRY("a") "," ENTRY("b")), "disabled[0]", 2},
	{FILE_OF(ENTRY("a") "," ENTRY("a") "," ENTRY("c")), "disabled[1]", 2},
	{"{\"format\":\"kplug-decisions/1\",\"disabled\":[" ENTRY("a") "],\"pins\":7,"
								       "\"enabled\":[]}",
		"pins", 1},
	{"{\"format\":\"kplug-decisions/1\",\"disabled\":[" ENTRY("a") "]}", "pins", 1},
};

START_TEST(what_is_right_of_a_file_holds_and_what_is_wrong_is_named)
{
	put("decisions.json", partly[_i].text);
	for (int start = 0; start < 2; start++) {
		kp_diags_finish(&warnings);
		kp_decisions_finish(&decisions);
		ck_assert_int_eq(state_decisions(state, &decisions, &warnings, &diag), 0);
		ck_assert_uint_eq(decisions.n_disabled, partly[_i].right);
		ck_assert_ptr_nonnull(kp_decisions_find(&decisions, "a"));
		ck_assert_uint_eq(warnings.count, 2);
		ck_assert_str_eq(warnings.items[0].code, "damaged_state");
		ck_assert_str_eq(warnings.items[1].code, "bad_decisions");
		ck_assert_ptr_nonnull(strstr(warnings.items[1].message, partly[_i].path));
		ck_assert(is_there("decisions.json"));
		ck_assert(is_there("decisions.json.damaged"));
		ck_assert(!is_there("decisions.json.damaged.1"));
	}
}
END_TEST

static const char *const newer[] = {"{\"format\": \"kplug-decisions/2\"}",
	"{\"format\": \"kplug-decisions/9\", \"disabled\": 7}",
	"{\"format\": \"kplug-decisions/99\", \"rules\": []}"};

START_TEST(a_newer_format_is_refused_naming_both_and_left_as_it_is)
{
	put("decisions.json", newer[_i]);
	ck_assert_int_eq(state_decisions(state, &decisions, &warnings, &diag), -1);
	ck_assert_str_eq(diag.code, "newer_format");
	ck_assert_ptr_nonnull(strstr(diag.message, "kplug-decisions/1"));
	ck_assert_ptr_nonnull(strstr(diag.message, path));
	ck_assert_uint_eq(warnings.count, 0);
	ck_assert(is_there("decisions.json"));
	ck_assert(!is_there("decisions.json.damaged"));
}
END_TEST

START_TEST(a_link_to_nothing_is_not_taken_for_no_file)
{
	char link_path[400];
	static const char *const targets[] = {"nothing", "/nowhere/at/all", "a/b"};
	struct stat st;
	(void)snprintf(link_path, sizeof(link_path), "%s/decisions.json", path);
	ck_assert_int_eq(symlink(targets[_i], link_path), 0);
	ck_assert_int_eq(state_decisions(state, &decisions, &warnings, &diag), -1);
	ck_assert_str_eq(diag.code, "missing_file");
	ck_assert_ptr_nonnull(strstr(diag.message, "is a link"));
	ck_assert_int_eq(lstat(link_path, &st), 0);
}
END_TEST

static void keep(void)
{
	struct seen seen = {0};
	ck_assert_int_eq(
		state_keep_decisions(state, &decisions, on_kept, &seen, &diag), 0);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(seen.failures, 0);
}

START_TEST(the_decisions_before_hold_when_the_newest_are_damaged)
{
	disable("a", false);
	keep();
	disable("b", false);
	keep();
	put("decisions.json", damaged[_i]);
	for (int start = 0; start < 2; start++) {
		kp_diags_finish(&warnings);
		kp_decisions_finish(&decisions);
		ck_assert_int_eq(state_decisions(state, &decisions, &warnings, &diag), 0);
		ck_assert_uint_eq(decisions.n_disabled, 1);
		ck_assert_ptr_nonnull(kp_decisions_find(&decisions, "a"));
		ck_assert_uint_eq(warnings.count, 1);
		ck_assert_ptr_nonnull(
			strstr(warnings.items[0].message, "decisions.json.old"));
	}
	/* What is damaged is never taken for the good one before. */
	keep();
	put("decisions.json", "{");
	kp_decisions_finish(&decisions);
	ck_assert_int_eq(state_decisions(state, &decisions, &warnings, &diag), 0);
	ck_assert_ptr_nonnull(kp_decisions_find(&decisions, "a"));
}
END_TEST

START_TEST(a_few_damaged_files_are_kept_and_the_first_of_them_stay)
{
	char name[40];
	char text[16];
	for (int i = 0; i < 9; i++) {
		(void)snprintf(text, sizeof(text), "{%d", i);
		put("decisions.json", text);
		ck_assert_int_eq(state_decisions(state, &decisions, &warnings, &diag), 0);
	}
	ck_assert(is_there("decisions.json.damaged"));
	for (int i = 1; i < 9; i++) {
		(void)snprintf(name, sizeof(name), "decisions.json.damaged.%d", i);
		ck_assert_int_eq(is_there(name), i < 5);
	}
	char first[400];
	(void)snprintf(first, sizeof(first), "%s/decisions.json.damaged", path);
	FILE *file = fopen(first, "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), file));
	ck_assert_str_eq(text, "{0");
	ck_assert_int_eq(fclose(file), 0);
}
END_TEST

START_TEST(what_could_not_be_read_back_is_not_written)
{
	char name[24];
	char reason[513];
	bool changed;
	struct seen seen = {0};
	memset(reason, 1, sizeof(reason));
	reason[sizeof(reason) - 1] = '\0';
	for (int i = 0; i < 2000; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		ck_assert_int_eq(kp_decisions_disable(
					 &decisions, name, reason, 1, 0, false, &changed),
			0);
	}
	ck_assert_int_eq(
		state_keep_decisions(state, &decisions, on_kept, &seen, &diag), -1);
	ck_assert_str_eq(diag.code, "decisions_full");
	ck_assert_ptr_nonnull(strstr(diag.message, "4194304"));
	ck_assert(!is_there("decisions.json"));
}
END_TEST

START_TEST(decisions_that_were_set_aside_are_missed_until_something_is_decided)
{
	struct seen seen = {0};
	put("decisions.json", "{");
	for (int start = 0; start < 3; start++) {
		kp_diags_finish(&warnings);
		ck_assert_int_eq(state_decisions(state, &decisions, &warnings, &diag), 0);
		ck_assert_uint_eq(warnings.count, 1);
		ck_assert_str_eq(warnings.items[0].code, "damaged_state");
		ck_assert_ptr_nonnull(
			strstr(warnings.items[0].message, "decisions.json.damaged"));
		close_state();
		open_state();
	}
	ck_assert_int_eq(
		state_keep_decisions(state, &decisions, on_kept, &seen, &diag), 0);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	kp_diags_finish(&warnings);
	ck_assert_int_eq(state_decisions(state, &decisions, &warnings, &diag), 0);
	ck_assert_uint_eq(warnings.count, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("state_damage");
	TCase *tcase = tcase_create("state_damage");
	tcase_add_checked_fixture(tcase, make_place, drop_place);
	tcase_add_loop_test(tcase, damaged_decisions_are_set_aside_and_reported, 0,
		sizeof(damaged) / sizeof(damaged[0]));
	tcase_add_loop_test(tcase,
		what_is_right_of_a_file_holds_and_what_is_wrong_is_named, 0,
		sizeof(partly) / sizeof(partly[0]));
	tcase_add_loop_test(
		tcase, a_newer_format_is_refused_naming_both_and_left_as_it_is, 0, 3);
	tcase_add_loop_test(tcase, a_link_to_nothing_is_not_taken_for_no_file, 0, 3);
	tcase_add_loop_test(tcase, the_decisions_before_hold_when_the_newest_are_damaged,
		0, sizeof(damaged) / sizeof(damaged[0]));
	tcase_add_test(tcase, a_few_damaged_files_are_kept_and_the_first_of_them_stay);
	tcase_add_test(tcase, what_could_not_be_read_back_is_not_written);
	tcase_add_test(tcase,
		decisions_that_were_set_aside_are_missed_until_something_is_decided);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
