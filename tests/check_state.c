/* SPDX-License-Identifier: MIT */
/* Decisions are on the disk before anybody is told; damage never stops a start. */
#include "daemon/state.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char place[256], path[300];
static uv_loop_t loop;
static struct state *state;
static struct kp_decisions decisions;
static struct kp_diags warnings;
static struct kp_diag diag;

static void open_state(void)
{
	ck_assert_int_eq(state_open(&loop, path, false, &state, &diag), 0);
}

static void close_state(void)
{
	state_close(state);
	ck_assert_int_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
	state = NULL;
}

static void make_place(void)
{
	const char *tmp = getenv("TMPDIR");
	(void)snprintf(place, sizeof(place), "%s/kplug-state-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(place));
	(void)snprintf(path, sizeof(path), "%s/deep/state", place);
	ck_assert_int_eq(uv_loop_init(&loop), 0);
	decisions = (struct kp_decisions){0};
	warnings = (struct kp_diags){0};
	open_state();
}

static void drop_place(void)
{
	char command[300];
	if (state)
		close_state();
	kp_decisions_finish(&decisions);
	kp_diags_finish(&warnings);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", place);
	ck_assert_int_eq(system(command), 0);
}

static void put(const char *name, const char *text)
{
	char file_path[400];
	(void)snprintf(file_path, sizeof(file_path), "%s/%s", path, name);
	FILE *file = fopen(file_path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static bool is_there(const char *name)
{
	char file_path[400];
	(void)snprintf(file_path, sizeof(file_path), "%s/%s", path, name);
	return access(file_path, F_OK) == 0;
}

static void disable(const char *name, bool runtime)
{
	bool changed = false;
	ck_assert_int_eq(
		kp_decisions_disable(&decisions, name, "why", 1, 0, runtime, &changed),
		0);
}

/* What a reader would find when the callback is told. */
struct seen {
	size_t on_disk;
	int calls, failures;
};

static void on_kept(void *context, const struct kp_diag *failure)
{
	struct seen *seen = context;
	struct kp_decisions read;
	struct kp_diags none = {0};

	ck_assert_int_eq(state_decisions(state, &read, &none, &diag), failure ? -1 : 0);
	seen->on_disk = read.n_disabled;
	seen->calls++;
	seen->failures += failure != NULL;
	kp_decisions_finish(&read);
	kp_diags_finish(&none);
}

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

static const char *const damaged[] = {
	"",
	"{",
	"[]",
	"{\"format\": \"kplug-decisions/99\"}",
	"{\"format\": \"kplug-decisions/1\", \"disabled\": 7}",
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
	tcase_add_loop_test(tcase, damaged_decisions_are_set_aside_and_reported, 0,
		sizeof(damaged) / sizeof(damaged[0]));
	tcase_add_test(tcase,
		decisions_that_were_set_aside_are_missed_until_something_is_decided);
	tcase_add_loop_test(tcase, what_cannot_be_read_just_now_is_no_damage, 0, 2);
	tcase_add_loop_test(tcase, what_is_no_file_is_left_where_it_is, 0, 4);
	tcase_add_test(tcase, without_decisions_there_is_nothing_to_say);
	tcase_add_test(tcase, the_table_comes_back_as_it_was);
	tcase_add_test(tcase, a_table_that_is_none_is_set_aside);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
