/* SPDX-License-Identifier: MIT */
/* Files of ours in directories where others write, too: what they put there gives way. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "tests/support/suite.h"

static const char victim[] = "what others need";
static char root[200];
static int dir = -1;

static void put(const char *name, const char *text)
{
	struct kp_diag diag;
	int result = kp_file_replace(dir, name, text, strlen(text), 0644, false, &diag);
	ck_assert_msg(result == 0, "%s", diag.message);
}

static void holds(const char *name, const char *wanted)
{
	struct kp_diag diag;
	struct stat st;
	char *text;
	size_t size;
	ck_assert_int_eq(fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert(S_ISREG(st.st_mode));
	ck_assert_uint_eq(st.st_uid, geteuid());
	ck_assert_int_eq(kp_file_read(dir, name, 100, &text, &size, &diag), 0);
	ck_assert_str_eq(text, wanted);
	free(text);
}

static bool exists(const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void setup(void)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(root, sizeof(root), "%.100s/kplug-claim-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(root));
	dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
	put("victim", victim);
}

static void teardown(void)
{
	char command[256];
	kp_file_close(&dir);
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(what_a_second_name_leads_to_is_not_written)
{
	ck_assert_int_eq(linkat(dir, "victim", dir, ".file.new", 0), 0);
	put("file", "new");
	holds("file", "new");
	holds("victim", victim);
	ck_assert(!exists(".file.new"));
}
END_TEST

static const char *const links[] = {"victim", "nowhere", ".file.new", "/dev/null"};
enum { LINKS = sizeof(links) / sizeof(links[0]) };

START_TEST(link_in_the_place_of_the_temporary_file_is_not_followed)
{
	ck_assert_int_eq(symlinkat(links[_i], dir, ".file.new"), 0);
	put("file", "new");
	holds("file", "new");
	holds("victim", victim);
	ck_assert(!exists("nowhere"));
}
END_TEST

START_TEST(pipe_in_the_place_of_the_temporary_file_is_not_waited_for)
{
	int reader = -1;
	char byte;
	ck_assert_int_eq(mkfifoat(dir, ".file.new", 0600), 0);
	if (_i)
		reader = openat(dir, ".file.new", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	put("file", "new");
	holds("file", "new");
	if (reader >= 0)
		ck_assert_int_eq(read(reader, &byte, 1), 0);
	kp_file_close(&reader);
}
END_TEST

START_TEST(file_of_another_user_is_not_written_to)
{
	if (geteuid() != 0)
		return;
	put(".file.new", "his");
	ck_assert_int_eq(fchownat(dir, ".file.new", 65534, (gid_t)-1, 0), 0);
	ck_assert_int_eq(fchmodat(dir, ".file.new", 0666, 0), 0);
	put("file", "ours");
	holds("file", "ours");
	ck_assert(!exists(".file.new"));
}
END_TEST

START_TEST(directory_in_the_place_of_the_temporary_file_is_said)
{
	struct kp_diag diag;
	ck_assert_int_eq(mkdirat(dir, ".file.new", 0755), 0);
	ck_assert_int_eq(kp_file_replace(dir, "file", "x", 1, 0644, false, &diag), -1);
	ck_assert_str_eq(diag.code, "write_failed");
	ck_assert_ptr_nonnull(strstr(diag.message, "Is a directory"));
	ck_assert(!exists("file"));
}
END_TEST

START_TEST(what_is_claimed_is_not_claimed_again_until_it_is_closed)
{
	int first = kp_file_claim(dir, "claimed");
	ck_assert_int_ge(first, 0);
	pid_t other = fork();
	if (other == 0) {
		/* Ended by the alarm as long as it is claimed, without those around it.
		 */
		signal(SIGALRM, SIG_DFL);
		alarm(1);
		kp_file_close(&first);
		_exit(kp_file_claim(dir, "claimed") < 0);
	}
	int status = 0;
	ck_assert_int_eq(waitpid(other, &status, 0), other);
	ck_assert(WIFSIGNALED(status));
	kp_file_close(&first);
	int second = kp_file_claim(dir, "claimed");
	ck_assert_int_ge(second, 0);
	kp_file_close(&second);
}
END_TEST

/* A process that may read the file, and locks it; ended by its pipe. */
static pid_t lock_it(int operation, int *until)
{
	int pipes[2], told[2];
	char byte;

	ck_assert_int_eq(pipe(pipes) | pipe(told), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(pipes[1]);
		int fd = openat(dir, ".file.new", O_RDONLY | O_CLOEXEC);
		byte = fd >= 0 && flock(fd, operation) == 0;
		(void)!write(told[1], &byte, 1);
		(void)!read(pipes[0], &byte, 1);
		_exit(0);
	}
	(void)close(pipes[0]);
	*until = pipes[1];
	ck_assert_int_eq(read(told[0], &byte, 1), 1);
	ck_assert_int_eq(byte, 1);
	(void)close(told[0]);
	(void)close(told[1]);
	return pid;
}

static const struct {
	mode_t mode;
	int operation;
} locks[] = {{0644, LOCK_EX}, {0644, LOCK_SH}, {0600, LOCK_EX}, {0440, LOCK_SH}};
enum { LOCKS = sizeof(locks) / sizeof(locks[0]) };

START_TEST(lock_of_who_may_only_read_does_not_hold_up_a_writer)
{
	int until, status;

	put(".file.new", "left by who was killed");
	ck_assert_int_eq(fchmodat(dir, ".file.new", locks[_i].mode, 0), 0);
	pid_t pid = lock_it(locks[_i].operation, &until);
	put("file", "ours");
	holds("file", "ours");
	ck_assert(!exists(".file.new"));
	(void)close(until);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}
END_TEST

START_TEST(what_is_claimed_is_read_and_so_locked_by_nobody)
{
	struct stat st;
	int fd = kp_file_claim(dir, "claimed");

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0200);
	put("file", "ours");
	ck_assert_int_eq(fstatat(dir, "file", &st, 0), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0644);
	kp_file_close(&fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("file_claim");
	TCase *tcase = tcase_create("claim");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, what_a_second_name_leads_to_is_not_written);
	tcase_add_loop_test(
		tcase, link_in_the_place_of_the_temporary_file_is_not_followed, 0, LINKS);
	tcase_add_loop_test(
		tcase, pipe_in_the_place_of_the_temporary_file_is_not_waited_for, 0, 2);
	tcase_add_test(tcase, file_of_another_user_is_not_written_to);
	tcase_add_test(tcase, directory_in_the_place_of_the_temporary_file_is_said);
	tcase_add_test(tcase, what_is_claimed_is_not_claimed_again_until_it_is_closed);
	tcase_add_loop_test(
		tcase, lock_of_who_may_only_read_does_not_hold_up_a_writer, 0, LOCKS);
	tcase_add_test(tcase, what_is_claimed_is_read_and_so_locked_by_nobody);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
