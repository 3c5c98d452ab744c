/* SPDX-License-Identifier: MIT */
/*
 * Places of kplug's own files. With an argument this program prints what a copy
 * of it finds where it lies; the tests make such copies.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "installed.h"
#include "lib/base/file.h"
#include "lib/base/place.h"
#include "tests/support/suite.h"

static char root[256];

static void setup(void)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(root, sizeof(root), "%s/kplug-place-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(root));
	char *real = realpath(root, NULL);
	snprintf(root, sizeof(root), "%s", real);
	free(real);
}

static void teardown(void)
{
	char command[300];
	/* Leaks are looked for as the user that the process has begun as. */
	ck_assert_int_eq(seteuid(getuid()), 0);
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	ck_assert_int_eq(system(command), 0);
}

/* Makes root/path, a directory. */
static void make_dir(const char *path)
{
	char whole[512];
	struct kp_diag diag;
	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	ck_assert_msg(kp_file_make_dirs(whole, 0755, &diag) == 0, "%s", diag.message);
}

/* What a copy of this program at root/dir/probe says for `what`. */
static void ask_copy(const char *dir, const char *what, char *answer, size_t size)
{
	char program[512], command[600];
	make_dir(dir);
	snprintf(program, sizeof(program), "%s/%s/probe", root, dir);
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(program, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	struct stat st;
	ck_assert(from >= 0 && to >= 0 && fstat(from, &st) == 0);
	for (off_t left = st.st_size; left > 0;) {
		ssize_t n = sendfile(to, from, NULL, (size_t)left);
		ck_assert_int_gt(n, 0);
		left -= n;
	}
	close(from);
	close(to);
	snprintf(command, sizeof(command), "'%s' '%s'", program, what);
	FILE *pipe = popen(command, "r");
	ck_assert_ptr_nonnull(pipe);
	size_t n = fread(answer, 1, size - 1, pipe);
	answer[n] = '\0';
	ck_assert_int_eq(pclose(pipe), 0);
}

static void finds(const char *dir, const char *what, const char *expected)
{
	char answer[1024], whole[512];
	ask_copy(dir, what, answer, sizeof(answer));
	snprintf(whole, sizeof(whole), "%s%s%s", expected[0] == '/' ? "" : root,
		expected[0] == '/' ? "" : "/", expected);
	ck_assert_str_eq(answer, whole);
}

static const char *const parts[] = {"plugin-worker", "plugind", "plugins",
	"plugins/plugins.d", "families", "schemas"};
enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

START_TEST(part_beside_the_program_comes_first)
{
	char beside[128];
	snprintf(beside, sizeof(beside), "build/%s", parts[_i]);
	make_dir(beside);
	make_dir("libexec/kplug/plugin-worker");
	make_dir("lib/kplug/plugins.d");
	finds("build", parts[_i], beside);
}
END_TEST

static const struct {
	const char *dir, *part, *place;
} installs[] = {
	{"usr/bin", "plugind", "usr/sbin/plugind"},
	{"usr/bin", "plugin-worker", "usr/libexec/kplug/plugin-worker"},
	{"usr/sbin", "plugin-worker", "usr/libexec/kplug/plugin-worker"},
	{"usr/sbin", "plugins", "usr/lib/kplug/plugins"},
	{"usr/sbin", "plugins/plugins.d", "usr/lib/kplug/plugins.d"},
	{"opt/x/sbin", "families", "opt/x/share/kplug/families"},
	{"opt/x/sbin", "schemas", "opt/x/share/kplug/schemas"},
};
enum { INSTALLS = sizeof(installs) / sizeof(installs[0]) };

START_TEST(installed_part_is_found_below_the_programs_prefix)
{
	make_dir(installs[_i].place);
	finds(installs[_i].dir, installs[_i].part, installs[_i].place);
}
END_TEST

START_TEST(part_that_is_nowhere_is_named_at_the_prefix)
{
	finds("empty/bin", "plugin-worker", KP_PREFIX "/libexec/kplug/plugin-worker");
	finds("empty/bin", "plugins/plugins.d", KP_PREFIX "/lib/kplug/plugins.d");
	finds("empty/bin", "families", KP_PREFIX "/share/kplug/families");
}
END_TEST

START_TEST(system_layers_are_operator_runtime_and_package)
{
	char **dirs = kp_place_manifest_dirs(true);
	ck_assert_ptr_nonnull(dirs);
	ck_assert_str_eq(dirs[0], KP_SYSCONFDIR "/kplug/plugins.d");
	ck_assert_str_eq(dirs[1], "/run/kplug/plugins.d");
	ck_assert_str_eq(dirs[2], KP_PREFIX "/lib/kplug/plugins.d");
	ck_assert_ptr_null(dirs[3]);
	kp_place_free(dirs);
}
END_TEST

START_TEST(lowest_layer_is_beside_a_program_in_the_build_tree)
{
	make_dir("build/plugins/plugins.d");
	finds("build", "lowest", "build/plugins/plugins.d");
}
END_TEST

START_TEST(user_layer_lies_over_those_of_the_system)
{
	setenv("XDG_CONFIG_HOME", "/some/config", 1);
	setenv("XDG_RUNTIME_DIR", "/some/run", 1);
	char **dirs = kp_place_manifest_dirs(false);
	ck_assert_ptr_nonnull(dirs);
	ck_assert_str_eq(dirs[0], "/some/config/kplug/plugins.d");
	ck_assert_str_eq(dirs[1], "/some/run/kplug/plugins.d");
	ck_assert_str_eq(dirs[2], KP_SYSCONFDIR "/kplug/plugins.d");
	ck_assert_str_eq(dirs[3], "/run/kplug/plugins.d");
	ck_assert_ptr_nonnull(dirs[4]);
	ck_assert_ptr_null(dirs[5]);
	kp_place_free(dirs);
}
END_TEST

static void is(char *made, const char *expected)
{
	ck_assert_ptr_nonnull(made);
	ck_assert_str_eq(made, expected);
	free(made);
}

START_TEST(directories_of_a_user_are_those_of_xdg)
{
	setenv("XDG_STATE_HOME", "/x/state", 1);
	setenv("XDG_CACHE_HOME", "/x/cache", 1);
	setenv("XDG_RUNTIME_DIR", "/x/run", 1);
	is(kp_place_state_dir(false), "/x/state/kplug");
	is(kp_place_cache_dir(false), "/x/cache/kplug");
	is(kp_place_socket(false), "/x/run/kplug/plugind.sock");
	is(kp_place_runtime_layer(false), "/x/run/kplug/plugins.d");
	setenv("XDG_CONFIG_HOME", "/x/config", 1);
	is(kp_place_config_file(false), "/x/config/kplug/plugind.json");
}
END_TEST

START_TEST(without_xdg_they_are_below_home)
{
	char expected[512];
	unsetenv("XDG_STATE_HOME");
	unsetenv("XDG_RUNTIME_DIR");
	setenv("XDG_CACHE_HOME", "not/absolute", 1);
	setenv("HOME", root, 1);
	snprintf(expected, sizeof(expected), "%s/.local/state/kplug", root);
	is(kp_place_state_dir(false), expected);
	snprintf(expected, sizeof(expected), "%s/.cache/kplug", root);
	is(kp_place_cache_dir(false), expected);
	unsetenv("XDG_CONFIG_HOME");
	snprintf(expected, sizeof(expected), "%s/.config/kplug/plugind.json", root);
	is(kp_place_config_file(false), expected);
}
END_TEST

enum { STRANGER = 61234 }; /* a user that has never logged in */

/* A /tmp for this test alone, which begins as root; false where it may not have one. */
static bool take_tmp(void)
{
	unsetenv("XDG_RUNTIME_DIR");
	unsetenv("XDG_STATE_HOME");
	unsetenv("XDG_CACHE_HOME");
	ck_assert_int_eq(rmdir(root), 0);
	if (unshare(CLONE_NEWNS) == 0 &&
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		mount("tmp", "/tmp", "tmpfs", 0, "mode=1777") == 0)
		return true;
	suite_skip("a user without a login", "only root can take a /tmp of its own");
	return false;
}

START_TEST(who_has_not_logged_in_gets_a_runtime_directory_of_their_own)
{
	struct stat st;

	if (!take_tmp())
		return;
	ck_assert_int_eq(seteuid(STRANGER), 0);
	is(kp_place_socket(false), "/tmp/kplug-61234/plugind.sock");
	is(kp_place_runtime_layer(false), "/tmp/kplug-61234/plugins.d");
	ck_assert_int_eq(lstat("/tmp/kplug-61234", &st), 0);
	ck_assert_uint_eq(st.st_uid, STRANGER);
	ck_assert_uint_eq(st.st_mode, S_IFDIR | 0700);
}
END_TEST

static void make_link(const char *path)
{
	ck_assert_int_eq(symlink(root, path), 0);
}

static void make_open(const char *path)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(chown(path, STRANGER, 0), 0);
	ck_assert_int_eq(chmod(path, 0770), 0);
}

static void make_anothers(const char *path)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void make_movable(const char *path)
{
	make_open(path);
	ck_assert_int_eq(chmod(path, 0700), 0);
	ck_assert_int_eq(chmod("/tmp", 0777), 0);
}

static void (*const prepared[])(const char *path) = {
	make_link, make_open, make_anothers, make_movable};
enum { PREPARED = sizeof(prepared) / sizeof(prepared[0]) };

START_TEST(what_another_user_has_prepared_in_tmp_is_not_taken)
{
	if (!take_tmp())
		return;
	prepared[_i]("/tmp/kplug-61234");
	ck_assert_int_eq(seteuid(STRANGER), 0);
	is(kp_place_socket(false), "/run/user/61234/kplug/plugind.sock");
}
END_TEST

static const char *const homes[] = {"/", "/nonexistent", "/proc/self", "/dev/null"};
enum { HOMES = sizeof(homes) / sizeof(homes[0]) };

START_TEST(without_a_home_to_write_in_state_and_cache_are_at_the_runtime_directory)
{
	if (!take_tmp())
		return;
	setenv("HOME", homes[_i], 1);
	ck_assert_int_eq(seteuid(STRANGER), 0);
	is(kp_place_state_dir(false), "/tmp/kplug-61234/state");
	is(kp_place_cache_dir(false), "/tmp/kplug-61234/cache");
	ck_assert(kp_place_is_fleeting("/tmp/kplug-61234/state"));
	setenv("XDG_STATE_HOME", "/x", 1);
	is(kp_place_state_dir(false), "/x/kplug");
	ck_assert(!kp_place_is_fleeting("/x/kplug"));
}
END_TEST

START_TEST(directories_of_the_system_are_fixed)
{
	setenv("XDG_STATE_HOME", "/x/state", 1);
	is(kp_place_state_dir(true), "/var/lib/kplug");
	is(kp_place_cache_dir(true), "/var/cache/kplug");
	is(kp_place_socket(true), "/run/kplug/plugind.sock");
	is(kp_place_runtime_layer(true), "/run/kplug/plugins.d");
	is(kp_place_config_file(true), KP_SYSCONFDIR "/kplug/plugind.json");
}
END_TEST

/* The part, or for "lowest" the lowest manifest layer. */
static int answer_as_copy(const char *what)
{
	if (strcmp(what, "lowest") != 0) {
		char *found = kp_place_find(what);
		printf("%s", found ? found : "");
		free(found);
		return EXIT_SUCCESS;
	}
	char **dirs = kp_place_manifest_dirs(true);
	printf("%s", dirs ? dirs[2] : "");
	kp_place_free(dirs);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return answer_as_copy(argv[1]);
	TCase *tcase = tcase_create("place");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, part_beside_the_program_comes_first, 0, PARTS);
	tcase_add_loop_test(
		tcase, installed_part_is_found_below_the_programs_prefix, 0, INSTALLS);
	tcase_add_test(tcase, part_that_is_nowhere_is_named_at_the_prefix);
	tcase_add_test(tcase, system_layers_are_operator_runtime_and_package);
	tcase_add_test(tcase, lowest_layer_is_beside_a_program_in_the_build_tree);
	tcase_add_test(tcase, user_layer_lies_over_those_of_the_system);
	tcase_add_test(tcase, directories_of_a_user_are_those_of_xdg);
	tcase_add_test(tcase, without_xdg_they_are_below_home);
	tcase_add_test(
		tcase, who_has_not_logged_in_gets_a_runtime_directory_of_their_own);
	tcase_add_loop_test(
		tcase, what_another_user_has_prepared_in_tmp_is_not_taken, 0, PREPARED);
	tcase_add_loop_test(tcase,
		without_a_home_to_write_in_state_and_cache_are_at_the_runtime_directory,
		0, HOMES);
	tcase_add_test(tcase, directories_of_the_system_are_fixed);
	Suite *suite = suite_create("place");
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
