/* SPDX-License-Identifier: MIT */
/* Changes in directories are told once things are quiet; other things are not. */
#include "daemon/scan/watch.h"
#include "tests/support/suite.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char place[256], inner[300];
static uv_loop_t loop;
static uv_timer_t limit;
static struct watch *watch;
static int told;
static bool is_late;

static void on_change(void *context)
{
	(void)context;
	told++;
	uv_stop(&loop);
}

static void on_limit(uv_timer_t *timer)
{
	(void)timer;
	is_late = true;
	uv_stop(&loop);
}

/* Runs the loop until it is told, at most `ms`. Returns whether it was. */
static bool is_told(uint64_t ms)
{
	int before = told;
	is_late = false;
	uv_update_time(&loop);
	ck_assert_int_eq(uv_timer_start(&limit, on_limit, ms, 0), 0);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	return told > before && !is_late;
}

/* Long enough for any machine when it must come, longer than the delay when it must not.
 */
enum { MUST_COME_MS = 20000, MUST_NOT_MS = 600 };

static bool set(const char *path, unsigned kinds, size_t *failed)
{
	struct watch_dir dir = {(char *)(size_t)path, kinds};
	return watch_set(watch, &dir, 1, failed);
}

static void make_place(void)
{
	const char *tmp = getenv("TMPDIR");
	struct kp_diag diag;
	size_t failed;

	(void)snprintf(place, sizeof(place), "%s/kplug-watch-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(place));
	(void)snprintf(inner, sizeof(inner), "%s/inner", place);
	ck_assert_int_eq(mkdir(inner, 0700), 0);
	ck_assert_int_eq(uv_loop_init(&loop), 0);
	ck_assert_int_eq(uv_timer_init(&loop, &limit), 0);
	told = 0;
	watch = watch_new(&loop, on_change, NULL, &diag);
	ck_assert_ptr_nonnull(watch);
	ck_assert(set(inner, WATCH_MANIFESTS | WATCH_LIBRARIES, &failed));
	ck_assert_uint_eq(failed, 0);
}

static void drop_place(void)
{
	char command[300];
	watch_close(watch);
	uv_close((uv_handle_t *)&limit, NULL);
	ck_assert_int_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", place);
	ck_assert_int_eq(system(command), 0);
}

static int make(const char *name)
{
	char path[400];
	(void)snprintf(path, sizeof(path), "%s/%s", inner, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	return fd;
}

START_TEST(a_burst_of_changes_is_told_once)
{
	char name[32];
	for (int i = 0; i < 50; i++) {
		(void)snprintf(name, sizeof(name), "p%d.json", i);
		(void)close(make(name));
	}
	ck_assert(is_told(MUST_COME_MS));
	ck_assert(!is_told(MUST_NOT_MS));
	ck_assert_int_eq(told, 1);
}
END_TEST

START_TEST(t16_a_file_is_told_when_it_is_whole)
{
	int fd = make("x.so");
	ck_assert(!is_told(MUST_NOT_MS));
	ck_assert_int_eq(write(fd, "bytes", 5), 5);
	ck_assert(!is_told(MUST_NOT_MS));
	ck_assert_int_eq(close(fd), 0);
	ck_assert(is_told(MUST_COME_MS));
}
END_TEST

START_TEST(what_is_no_regular_file_is_told_at_once)
{
	char path[400];
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	(void)snprintf(path, sizeof(path), "%s/x.so", inner);
	if (_i == 0) {
		ck_assert_int_eq(mkfifo(path, 0600), 0);
	} else if (_i == 1) {
		ck_assert_int_eq(symlink("/nowhere/x.so", path), 0);
	} else {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		ck_assert_int_ge(fd, 0);
		(void)snprintf(
			address.sun_path, sizeof(address.sun_path), "%.107s", path);
		ck_assert_int_eq(
			bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
		(void)close(fd);
	}
	ck_assert(is_told(MUST_COME_MS));
}
END_TEST

START_TEST(a_link_among_many_new_files_is_told)
{
	char name[32], link[400];
	int files[300];
	for (int i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "x%d.so", i);
		files[i] = make(name);
		(void)snprintf(link, sizeof(link), "%s/y.so", inner);
		if (i == _i)
			ck_assert_int_eq(symlink("x0.so", link), 0);
	}
	ck_assert(is_told(MUST_COME_MS));
	for (int i = 0; i < 300; i++)
		(void)close(files[i]);
}
END_TEST

START_TEST(who_may_write_in_a_directory_of_manifests_is_told)
{
	size_t failed;
	ck_assert_int_eq(chmod(inner, 0755), 0);
	ck_assert(is_told(MUST_COME_MS));
	(void)set(inner, WATCH_LIBRARIES, &failed);
	ck_assert_int_eq(chmod(inner, 0700), 0);
	ck_assert(!is_told(MUST_NOT_MS));
}
END_TEST

/* The pool may still look when everything else has ended. */
START_TEST(it_ends_while_it_looks)
{
	(void)close(make("a.so"));
	(void)uv_run(&loop, UV_RUN_NOWAIT);
	ck_assert_int_eq(told, 0);
}
END_TEST

START_TEST(t16_an_editors_file_is_not_told)
{
	(void)close(make(".x.so.swp"));
	(void)close(make("x.so~"));
	(void)close(make(".x.json.swx"));
	ck_assert(!is_told(MUST_NOT_MS));
}
END_TEST

START_TEST(links_renames_and_removals_are_told)
{
	char from[400], to[400];
	(void)snprintf(from, sizeof(from), "%s/a.json", inner);
	(void)snprintf(to, sizeof(to), "%s/b.json", inner);
	if (_i == 0) {
		ck_assert_int_eq(symlink("/dev/null", from), 0);
		ck_assert(is_told(MUST_COME_MS));
		return;
	}
	(void)close(make("a.json"));
	ck_assert(is_told(MUST_COME_MS));
	ck_assert_int_eq(_i == 1   ? rename(from, to)
			 : _i == 2 ? link(from, to)
				   : unlink(from),
		0);
	ck_assert(is_told(MUST_COME_MS));
}
END_TEST

START_TEST(a_directory_that_is_replaced_is_told_and_watched_again)
{
	char moved[320];
	size_t failed;
	(void)snprintf(moved, sizeof(moved), "%s.moved", inner);
	ck_assert_int_eq(rename(inner, moved), 0);
	ck_assert(is_told(MUST_COME_MS));
	ck_assert_int_eq(mkdir(inner, 0700), 0);
	ck_assert(set(inner, WATCH_MANIFESTS, &failed));
	(void)close(make("x.json"));
	ck_assert(is_told(MUST_COME_MS));
}
END_TEST

START_TEST(a_directory_that_is_awaited_is_told)
{
	size_t failed;
	char below[320];
	ck_assert(set(place, WATCH_ANCESTOR, &failed));
	(void)snprintf(below, sizeof(below), "%s/plugins.d", place);
	ck_assert_int_eq(mkdir(below, 0700), 0);
	ck_assert(is_told(MUST_COME_MS));
}
END_TEST

START_TEST(what_is_watched_already_is_not_new)
{
	size_t failed;
	ck_assert(!set(inner, WATCH_MANIFESTS, &failed));
	ck_assert(!set("/nowhere/at/all", WATCH_MANIFESTS, &failed));
	ck_assert_uint_eq(failed, 1);
}
END_TEST

START_TEST(what_is_watched_no_more_is_not_told)
{
	size_t failed;
	ck_assert(set(place, WATCH_MANIFESTS, &failed));
	(void)close(make("x.json"));
	ck_assert(!is_told(MUST_NOT_MS));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("watch");
	TCase *tcase = tcase_create("watch");
	tcase_add_checked_fixture(tcase, make_place, drop_place);
	tcase_add_test(tcase, a_burst_of_changes_is_told_once);
	tcase_add_test(tcase, t16_a_file_is_told_when_it_is_whole);
	tcase_add_loop_test(tcase, what_is_no_regular_file_is_told_at_once, 0, 3);
	tcase_add_loop_test(tcase, a_link_among_many_new_files_is_told, 0, 1);
	tcase_add_loop_test(tcase, a_link_among_many_new_files_is_told, 299, 300);
	tcase_add_test(tcase, who_may_write_in_a_directory_of_manifests_is_told);
	tcase_add_test(tcase, it_ends_while_it_looks);
	tcase_add_test(tcase, t16_an_editors_file_is_not_told);
	tcase_add_loop_test(tcase, links_renames_and_removals_are_told, 0, 4);
	tcase_add_test(tcase, a_directory_that_is_replaced_is_told_and_watched_again);
	tcase_add_test(tcase, a_directory_that_is_awaited_is_told);
	tcase_add_test(tcase, what_is_watched_already_is_not_new);
	tcase_add_test(tcase, what_is_watched_no_more_is_not_told);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
