/* SPDX-License-Identifier: MIT */
/* Decisions are on the disk before anybody is told; what cannot be read stays there. */
#include "daemon/state/state.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/state_place.h"
#include "tests/support/suite.h"

START_TEST(the_directory_is_private)
{
	struct stat st;
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0700);
}
END_TEST

START_TEST(t67_a_state_directory_has_one_daemon)
{
	struct state *second = NULL;
	ck_assert_int_eq(state_open(&loop, path, false, &second, &diag), -1);
	ck_assert_str_eq(diag.code, "already_running");
	ck_assert_ptr_null(second);
}
END_TEST

START_TEST(decisions_are_on_the_disk_when_it_is_told)
{
	struct seen seen = {0};
	disable("a", false);
	ck_assert_int_eq(
		state_keep_decisions(state, &decisions, on_kept, &seen, &diag), 0);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(seen.calls, 1);
	ck_assert_int_eq(seen.failures, 0);
	ck_assert_uint_eq(seen.on_disk, 1);
}
END_TEST

START_TEST(each_of_many_at_once_is_told_when_its_own_is_on_the_disk)
{
	struct seen seen[8] = {{0}};
	char name[8];
	for (size_t i = 0; i < 8; i++) {
		(void)snprintf(name, sizeof(name), "p%zu", i);
		disable(name, false);
		ck_assert_int_eq(
			state_keep_decisions(state, &decisions, on_kept, &seen[i], &diag),
			0);
	}
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	for (size_t i = 0; i < 8; i++) {
		ck_assert_int_eq(seen[i].calls, 1);
		ck_assert_uint_gt(seen[i].on_disk, i);
	}
}
END_TEST

START_TEST(what_is_only_for_now_is_not_kept)
{
	struct seen seen = {0};
	disable("a", true);
	disable("b", false);
	ck_assert_int_eq(
		state_keep_decisions(state, &decisions, on_kept, &seen, &diag), 0);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	ck_assert_uint_eq(seen.on_disk, 1);
}
END_TEST

START_TEST(a_write_under_way_is_finished_by_the_end)
{
	struct seen seen = {0};
	disable("a", false);
	ck_assert_int_eq(
		state_keep_decisions(state, &decisions, on_kept, &seen, &diag), 0);
	close_state();
	ck_assert_int_eq(seen.calls, 1);
	ck_assert(is_there("decisions.json"));
}
END_TEST

START_TEST(a_write_that_fails_is_told)
{
	struct seen seen = {0};
	char command[400];
	disable("a", false);
	/* A directory at the file's name: nobody can replace that, root neither. */
	(void)snprintf(command, sizeof(command), "mkdir -p '%s/decisions.json/x'", path);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(
		state_keep_decisions(state, &decisions, on_kept, &seen, &diag), 0);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(seen.failures, 1);
}
END_TEST

static ino_t file_number(void)
{
	char name[400];
	struct stat st = {.st_ino = 0};

	(void)snprintf(name, sizeof(name), "%s/decisions.json", path);
	return stat(name, &st) == 0 ? st.st_ino : 0;
}

/* Keeps them; at once: without the loop. */
static bool keep_now(struct seen *seen)
{
	int before = seen->calls;

	ck_assert_int_eq(
		state_keep_decisions(state, &decisions, on_kept, seen, &diag), 0);
	bool at_once = seen->calls > before;
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(seen->calls, before + 1);
	ck_assert_int_eq(seen->failures, 0);
	return at_once;
}

START_TEST(what_is_on_the_disk_already_is_not_written_again)
{
	struct seen seen = {0};
	disable("a", false);
	ck_assert(!keep_now(&seen));
	ino_t number = file_number();
	ck_assert(keep_now(&seen));
	disable("b", true);
	ck_assert(keep_now(&seen));
	ck_assert_uint_eq(file_number(), number);
	disable("c", false);
	ck_assert(!keep_now(&seen));
	ck_assert_uint_eq(seen.on_disk, 2);
}
END_TEST

START_TEST(what_somebody_took_from_the_disk_is_written_again)
{
	struct seen seen = {0};
	char name[400];
	disable("a", false);
	ck_assert(!keep_now(&seen));
	(void)snprintf(name, sizeof(name), "%s/decisions.json", path);
	ck_assert_int_eq(unlink(name), 0);
	ck_assert(!keep_now(&seen));
	ck_assert_int_eq(truncate(name, 1), 0);
	ck_assert(!keep_now(&seen));
	ck_assert_uint_eq(seen.on_disk, 1);
}
END_TEST

static int read_state(const char *name)
{
	size_t size;
	void *bytes = NULL;
	int result = strcmp(name, "table") == 0
			     ? state_table(state, &bytes, &size, &warnings, &diag)
			     : state_decisions(state, &decisions, &warnings, &diag);
	free(bytes);
	return result;
}

/* The process has as many descriptors as it may: opening fails for a while. */
START_TEST(what_cannot_be_read_just_now_is_no_damage)
{
	static const char *const names[] = {"decisions.json", "table"};
	struct rlimit limit;
	put(names[_i], "{\"format\": \"kplug-decisions/1\"}");
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	struct rlimit none = {0, limit.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	int result = read_state(names[_i]);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(result, -1);
	ck_assert_str_eq(diag.code, "io_error");
	ck_assert_ptr_nonnull(strstr(diag.message, path));
	ck_assert_ptr_nonnull(strstr(diag.message, names[_i]));
	ck_assert_uint_eq(warnings.count, 0);
	ck_assert(is_there(names[_i]));
}
END_TEST

START_TEST(what_is_no_file_is_left_where_it_is)
{
	char command[400];
	const char *name = _i % 2 ? "table" : "decisions.json";
	(void)snprintf(command, sizeof(command), "%s '%s/%s'",
		_i < 2 ? "mkdir" : "mkfifo", path, name);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(read_state(name), -1);
	ck_assert_str_eq(diag.code, "not_regular_file");
	ck_assert(is_there(name));
	ck_assert_uint_eq(warnings.count, 0);
}
END_TEST

START_TEST(without_decisions_there_is_nothing_to_say)
{
	ck_assert_int_eq(state_decisions(state, &decisions, &warnings, &diag), 0);
	ck_assert_uint_eq(warnings.count, 0);
}
END_TEST

START_TEST(the_table_comes_back_as_it_was)
{
	size_t size = 0;
	state_keep_table(state, "first", 5);
	state_keep_table(state, "second", 6);
	close_state();
	open_state();
	void *bytes = NULL;
	ck_assert_int_eq(state_table(state, &bytes, &size, &warnings, &diag), 0);
	ck_assert_uint_eq(size, 6);
	ck_assert_mem_eq(bytes, "second", 6);
	free(bytes);
	ck_assert_uint_eq(warnings.count, 0);
}
END_TEST

START_TEST(a_table_that_is_none_is_set_aside)
{
	put("table", "rubbish");
	kp_diag_set(&diag, "bad_table", NULL, "no magic");
	state_table_is_damaged(state, &diag, &warnings);
	ck_assert(is_there("table.damaged"));
	ck_assert_uint_eq(warnings.count, 1);
	ck_assert_ptr_nonnull(strstr(warnings.items[0].message, "no magic"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("state");
	TCase *tcase = tcase_create("state");
	tcase_add_checked_fixture(tcase, make_place, drop_place);
	tcase_add_test(tcase, the_directory_is_private);
	tcase_add_test(tcase, t67_a_state_directory_has_one_daemon);
	tcase_add_test(tcase, decisions_are_on_the_disk_when_it_is_told);
	tcase_add_test(tcase, each_of_many_at_once_is_told_when_its_own_is_on_the_disk);
	tcase_add_test(tcase, what_is_only_for_now_is_not_kept);
	tcase_add_test(tcase, a_write_under_way_is_finished_by_the_end);
	tcase_add_test(tcase, a_write_that_fails_is_told);
	tcase_add_test(tcase, what_is_on_the_disk_already_is_not_written_again);
	tcase_add_test(tcase, what_somebody_took_from_the_disk_is_written_again);
	tcase_add_loop_test(tcase, what_cannot_be_read_just_now_is_no_damage, 0, 2);
	tcase_add_loop_test(tcase, what_is_no_file_is_left_where_it_is, 0, 4);
	tcase_add_test(tcase, without_decisions_there_is_nothing_to_say);
	tcase_add_test(tcase, the_table_comes_back_as_it_was);
	tcase_add_test(tcase, a_table_that_is_none_is_set_aside);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
