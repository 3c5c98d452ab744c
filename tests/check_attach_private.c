/* SPDX-License-Identifier: MIT */
/* Applications where no plugind listens: they start one, share it, and leave none. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/host/attach.h"
#include "tests/support/plugind.h"
#include "tests/support/suite.h"

static char place[64];
static char beside[PATH_MAX]; /* this program, where plugind is looked for */

static void use(const char *variable, const char *directory)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", place, directory);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(setenv(variable, path, 1), 0);
}

static void put_plugind_beside(void)
{
	const char *build = getenv("KPLUG_BUILD");
	char program[PATH_MAX], path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", beside, sizeof(beside) - 16);

	ck_assert_int_gt(n, 0);
	beside[n] = '\0';
	strcpy(strrchr(beside, '/') + 1, "plugind");
	(void)snprintf(program, sizeof(program), "%s/plugind", build ? build : "build");
	ck_assert_ptr_nonnull(realpath(program, path));
	ck_assert(symlink(path, beside) == 0 || errno == EEXIST);
}

static void setup(void)
{
	const char *base = getenv("TMPDIR");

	(void)snprintf(place, sizeof(place), "%s/kplug-p.XXXXXX",
		base && strlen(base) < 40 ? base : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(place));
	use("XDG_RUNTIME_DIR", "run");
	use("XDG_CONFIG_HOME", "config");
	use("XDG_STATE_HOME", "state");
	use("XDG_CACHE_HOME", "cache");
	ck_assert_int_eq(unsetenv("KPLUG_SOCKET"), 0);
	put_plugind_beside();
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
	(void)st;
	(void)kind;
	(void)walk;
	return remove(path);
}

static bool is_gone(void *context)
{
	char path[128];
	(void)context;

	(void)snprintf(path, sizeof(path), "%s/run/kplug/plugind.sock", place);
	return access(path, F_OK) < 0;
}

static void teardown(void)
{
	plugind_await(is_gone, NULL, "the private plugind to end");
	(void)nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct kp_attach *attach(void)
{
	struct kp_attach_options options = {.name = "app"};
	struct kp_attach *made = NULL;
	struct kp_diag diag = {.code = "ok"};

	ck_assert_msg(kp_attach_new(&options, &made, &diag) == 0, "%s", diag.message);
	return made;
}

START_TEST(one_is_started_and_is_gone_with_its_last_application)
{
	struct kp_attach *one = attach();
	struct kp_attach *two = attach();

	ck_assert(!is_gone(NULL));
	ck_assert_uint_eq(kp_attach_control(one)->boot, kp_attach_control(two)->boot);
	kp_attach_free(one);
	ck_assert(kp_attach_is_there(two));
	kp_attach_free(two);
	plugind_await(is_gone, NULL, "it to end");
}
END_TEST

/* Attaches as soon as all are told to, and says to which plugind. */
static void run_child(int start, int told, int end)
{
	char byte;

	(void)!read(start, &byte, 1);
	struct kp_attach *made = attach();
	uint64_t boot = kp_attach_control(made)->boot;
	(void)!write(told, &boot, sizeof(boot));
	(void)!read(end, &byte, 1);
	kp_attach_free(made);
	_exit(0);
}

START_TEST(applications_that_start_at_once_share_one)
{
	enum { CHILDREN = 6 };
	int start[2], told[2], end[2];
	uint64_t first = 0;

	ck_assert(pipe(start) == 0 && pipe(told) == 0 && pipe(end) == 0);
	for (int i = 0; i < CHILDREN; i++)
		if (fork() == 0) {
			(void)close(start[1]);
			(void)close(end[1]);
			run_child(start[0], told[1], end[0]);
		}
	(void)close(start[1]);
	for (int i = 0; i < CHILDREN; i++) {
		uint64_t boot = 0;
		ck_assert_int_eq(read(told[0], &boot, sizeof(boot)), sizeof(boot));
		first = first ? first : boot;
		ck_assert_uint_eq(boot, first);
	}
	(void)close(end[1]);
	for (int i = 0; i < CHILDREN; i++)
		ck_assert_int_gt(wait(NULL), 0);
	(void)close(start[0]);
	(void)close(told[0]);
	(void)close(told[1]);
	(void)close(end[0]);
}
END_TEST

START_TEST(it_is_nobody_s_child_and_has_nothing_of_the_application_s)
{
	int ends[2];
	char byte;

	/* As a program does that pipes its output: without close-on-exec. */
	ck_assert_int_eq(pipe(ends), 0);
	struct kp_attach *made = attach();
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	(void)close(ends[1]);
	ck_assert_int_eq(read(ends[0], &byte, 1), 0);
	(void)close(ends[0]);
	kp_attach_free(made);
}
END_TEST

static bool is_back(void *made)
{
	return kp_attach_is_there(made);
}

static bool is_away(void *made)
{
	return !kp_attach_is_there(made);
}

static void kill_and_await(struct kp_attach *made)
{
	uint64_t boot = kp_attach_control(made)->boot;
	struct kp_diag diag;
	json_t *reply = NULL;

	ck_assert_int_eq(kp_attach_ask(made, "Status", NULL, &reply, &diag), 0);
	pid_t pid = (pid_t)json_integer_value(json_object_get(reply, "pid"));
	json_decref(reply);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	plugind_await(is_away, made, "the end of the connection");
	plugind_await(is_back, made, "another plugind");
	ck_assert_uint_ne(kp_attach_control(made)->boot, boot);
}

START_TEST(one_that_is_killed_is_started_again)
{
	struct kp_attach *made = attach();

	kill_and_await(made);
	kill_and_await(made);
	kp_attach_free(made);
}
END_TEST

START_TEST(one_whose_starter_has_gone_is_started_again_by_who_is_left)
{
	struct kp_attach *starter = attach();
	struct kp_attach *left = attach();

	kp_attach_free(starter);
	kill_and_await(left);
	kp_attach_free(left);
}
END_TEST

/* How many descriptors of ours are this file. */
static int descriptors_of(const char *path)
{
	char link[64], target[PATH_MAX];
	int count = 0;

	for (int fd = 0; fd < 256; fd++) {
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		ssize_t n = readlink(link, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		count += strcmp(target, path) == 0;
	}
	return count;
}

static bool waits_for_its_turn(void *path)
{
	return descriptors_of(path) == 2;
}

START_TEST(an_application_may_leave_while_one_is_started)
{
	struct kp_attach *made = attach();
	char turn[128];
	struct kp_diag diag;
	json_t *reply = NULL;
	struct timespec from, to;

	(void)snprintf(turn, sizeof(turn), "%s/run/kplug/plugind.sock.start", place);
	int fd = open(turn, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	ck_assert_int_eq(kp_attach_ask(made, "Status", NULL, &reply, &diag), 0);
	(void)kill((pid_t)json_integer_value(json_object_get(reply, "pid")), SIGKILL);
	json_decref(reply);
	plugind_await(waits_for_its_turn, turn, "an application that starts another");
	(void)clock_gettime(CLOCK_MONOTONIC, &from);
	kp_attach_free(made);
	(void)clock_gettime(CLOCK_MONOTONIC, &to);
	/* The turn is waited for 15 s. */
	ck_assert_int_lt(to.tv_sec - from.tv_sec, 10);
	(void)close(fd);
	(void)snprintf(turn, sizeof(turn), "%s/run/kplug/plugind.sock", place);
	(void)unlink(turn);
}
END_TEST

START_TEST(none_is_started_where_that_is_refused)
{
	struct kp_attach_options options = {.no_daemon = true};
	struct kp_attach *made;
	struct kp_diag diag;

	ck_assert_int_eq(kp_attach_new(&options, &made, &diag), -1);
	ck_assert_str_eq(diag.code, "no_daemon");
	ck_assert(is_gone(NULL));
}
END_TEST

START_TEST(none_is_started_for_a_socket_that_somebody_named)
{
	struct kp_attach_options options = {.name = "app"};
	struct kp_attach *made;
	struct kp_diag diag;

	ck_assert_int_eq(setenv("KPLUG_SOCKET", "/nonexistent/socket", 1), 0);
	ck_assert_int_eq(kp_attach_new(&options, &made, &diag), -1);
	ck_assert_str_eq(diag.code, "no_daemon");
	ck_assert_ptr_nonnull(strstr(diag.message, "/nonexistent/socket"));
	ck_assert(is_gone(NULL));
	ck_assert_int_eq(unsetenv("KPLUG_SOCKET"), 0);
}
END_TEST

START_TEST(without_a_place_for_its_socket_the_error_says_what_to_do)
{
	struct kp_attach_options options = {.name = "app"};
	struct kp_attach *made;
	struct kp_diag diag;

	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", "/proc/nonexistent", 1), 0);
	ck_assert_int_eq(kp_attach_new(&options, &made, &diag), -1);
	ck_assert_str_eq(diag.code, "no_daemon");
	ck_assert_ptr_nonnull(strstr(diag.message, "XDG_RUNTIME_DIR"));
}
END_TEST

static Suite *private_suite(void)
{
	Suite *suite = suite_create("attach_private");
	TCase *tcase = tcase_create("attach_private");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, one_is_started_and_is_gone_with_its_last_application);
	tcase_add_test(tcase, applications_that_start_at_once_share_one);
	tcase_add_test(tcase, it_is_nobody_s_child_and_has_nothing_of_the_application_s);
	tcase_add_test(tcase, one_that_is_killed_is_started_again);
	tcase_add_test(tcase, one_whose_starter_has_gone_is_started_again_by_who_is_left);
	tcase_add_test(tcase, an_application_may_leave_while_one_is_started);
	tcase_add_test(tcase, none_is_started_where_that_is_refused);
	tcase_add_test(tcase, none_is_started_for_a_socket_that_somebody_named);
	tcase_add_test(tcase, without_a_place_for_its_socket_the_error_says_what_to_do);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	int status = suite_run(private_suite());
	char program[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 16);

	if (n > 0) {
		program[n] = '\0';
		strcpy(strrchr(program, '/') + 1, "plugind");
		(void)unlink(program);
	}
	return status;
}
