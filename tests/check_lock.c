/* SPDX-License-Identifier: MIT */
/* One holder a lock, and nothing foreign is touched. */
#include "daemon/state/lock.h"
#include "tests/support/suite.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char place[256], path[300];
static struct kp_diag diag;

static void make_place(void)
{
	const char *tmp = getenv("TMPDIR");
	(void)snprintf(place, sizeof(place), "%s/kplug-lock-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(place));
	(void)snprintf(path, sizeof(path), "%s/lock", place);
}

static void drop_place(void)
{
	char command[300];
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", place);
	ck_assert_int_eq(system(command), 0);
}

static void write_file(const char *text)
{
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static void read_back(char *text, size_t size)
{
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, size - 1, file)] = '\0';
	ck_assert_int_eq(fclose(file), 0);
}

START_TEST(a_lock_holds_our_pid_and_goes_with_us)
{
	struct lock lock = {.fd = -1};
	char text[64], expected[64];

	ck_assert_int_eq(lock_take(&lock, path, &diag), 0);
	read_back(text, sizeof(text));
	(void)snprintf(expected, sizeof(expected), "plugind %ld\n", (long)getpid());
	ck_assert_str_eq(text, expected);
	lock_drop(&lock);
	ck_assert_int_eq(access(path, F_OK), -1);
	lock_drop(&lock);
}
END_TEST

START_TEST(t67_a_second_holder_is_told_who_the_first_is)
{
	struct lock first = {.fd = -1}, second = {.fd = -1};
	char pid[32];

	ck_assert_int_eq(lock_take(&first, path, &diag), 0);
	ck_assert_int_eq(lock_take(&second, path, &diag), -1);
	ck_assert_str_eq(diag.code, "already_running");
	(void)snprintf(pid, sizeof(pid), "process %ld ", (long)getpid());
	ck_assert_ptr_nonnull(strstr(diag.message, pid));
	ck_assert_ptr_nonnull(strstr(diag.message, path));
	lock_drop(&first);
	ck_assert_int_eq(lock_take(&second, path, &diag), 0);
	lock_drop(&second);
}
END_TEST

START_TEST(t68_what_a_dead_holder_left_is_taken_over)
{
	struct lock lock = {.fd = -1};

	write_file("plugind 99999999\n");
	ck_assert_int_eq(lock_take(&lock, path, &diag), 0);
	lock_drop(&lock);
}
END_TEST

START_TEST(t68_a_foreign_file_is_left_as_it_is)
{
	struct lock lock = {.fd = -1};
	char text[64];

	write_file("my notes");
	ck_assert_int_eq(lock_take(&lock, path, &diag), -1);
	ck_assert_str_eq(diag.code, "foreign_file");
	read_back(text, sizeof(text));
	ck_assert_str_eq(text, "my notes");
	lock_drop(&lock);
	ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

START_TEST(t68_a_link_or_directory_or_fifo_is_left_as_it_is)
{
	struct lock lock = {.fd = -1};
	struct stat st;

	if (_i == 0)
		ck_assert_int_eq(symlink("/dev/null", path), 0);
	else if (_i == 1)
		ck_assert_int_eq(mkdir(path, 0700), 0);
	else
		ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(lock_take(&lock, path, &diag), -1);
	ck_assert_str_eq(diag.code, "foreign_file");
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert(_i == 0   ? S_ISLNK(st.st_mode)
		  : _i == 1 ? S_ISDIR(st.st_mode)
			    : S_ISFIFO(st.st_mode));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lock");
	TCase *tcase = tcase_create("lock");
	tcase_add_checked_fixture(tcase, make_place, drop_place);
	tcase_add_test(tcase, a_lock_holds_our_pid_and_goes_with_us);
	tcase_add_test(tcase, t67_a_second_holder_is_told_who_the_first_is);
	tcase_add_test(tcase, t68_what_a_dead_holder_left_is_taken_over);
	tcase_add_test(tcase, t68_a_foreign_file_is_left_as_it_is);
	tcase_add_loop_test(
		tcase, t68_a_link_or_directory_or_fifo_is_left_as_it_is, 0, 3);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
