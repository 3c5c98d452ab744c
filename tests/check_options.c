/* SPDX-License-Identifier: MIT */
/* What plugind takes from its command line, its file and the defaults. */
#include "daemon/options.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char place[256];
static struct options options;
static struct kp_diag diag;

static void make_place(void)
{
	const char *tmp = getenv("TMPDIR");
	(void)snprintf(
		place, sizeof(place), "%s/kplug-options-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(place));
	ck_assert_int_eq(setenv("XDG_CONFIG_HOME", place, 1), 0);
	options = (struct options){0};
}

static void drop_place(void)
{
	char command[300];
	options_finish(&options);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", place);
	ck_assert_int_eq(system(command), 0);
}

/* Arguments after the program's name, ended by NULL. */
static int read_arguments(const char *const *arguments)
{
	static char name[] = "plugind";
	char *argv[32] = {name};
	int argc = 1;
	for (; arguments[argc - 1]; argc++)
		argv[argc] = (char *)(size_t)arguments[argc - 1];
	return options_read(argc, argv, &options, &diag);
}
#define READ(...) read_arguments((const char *const[]){__VA_ARGS__, NULL})

static const char *write_config(const char *text)
{
	static char path[300];
	(void)snprintf(path, sizeof(path), "%s/c.json", place);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	return path;
}

START_TEST(every_option_is_taken_from_the_command_line)
{
	ck_assert_int_eq(
		READ("--manifest-dir", "/a", "--manifest-dir", "/b", "--plugin-dir", "/p",
			"--families-dir", "/f", "--state-dir", "/s", "--cache-dir", "/c",
			"--socket", "/k", "--worker", "/w", "--platform", "/x",
			"--log-level", "debug", "--system"),
		0);
	ck_assert_uint_eq(options.n_manifest_dirs, 2);
	ck_assert_str_eq(options.manifest_dirs[0], "/a");
	ck_assert_str_eq(options.manifest_dirs[1], "/b");
	ck_assert_str_eq(options.plugin_dir, "/p");
	ck_assert_str_eq(options.families_dir, "/f");
	ck_assert_str_eq(options.state_dir, "/s");
	ck_assert_str_eq(options.cache_dir, "/c");
	ck_assert_str_eq(options.socket, "/k");
	ck_assert_str_eq(options.worker, "/w");
	ck_assert_str_eq(options.platform, "/x");
	ck_assert_int_eq(options.log_level, LOG_DEBUG);
	ck_assert(options.system);
	ck_assert_int_eq(options.action, OPTIONS_RUN);
}
END_TEST

START_TEST(every_option_is_taken_from_the_file)
{
	const char *path = write_config(
		"{\"manifest_dir\": [\"/a\", \"/b\"], \"plugin_dir\": \"/p\","
		" \"families_dir\": \"/f\", \"state_dir\": \"/s\", \"cache_dir\": \"/c\","
		" \"socket\": \"/k\", \"worker\": \"/w\", \"platform\": \"/x\","
		" \"log_level\": \"error\", \"system\": true}");
	ck_assert_int_eq(READ("--config", path), 0);
	ck_assert_uint_eq(options.n_manifest_dirs, 2);
	ck_assert_str_eq(options.manifest_dirs[1], "/b");
	ck_assert_str_eq(options.cache_dir, "/c");
	ck_assert_str_eq(options.platform, "/x");
	ck_assert_int_eq(options.log_level, LOG_ERROR);
	ck_assert(options.system);
}
END_TEST

START_TEST(the_command_line_beats_the_file)
{
	const char *path = write_config("{\"manifest_dir\": [\"/a\", \"/b\"],"
					" \"socket\": \"/k\", \"log_level\": \"error\"}");
	ck_assert_int_eq(READ("--socket", "/own", "--config", path, "--manifest-dir",
				 "/m", "--log-level", "warning"),
		0);
	ck_assert_str_eq(options.socket, "/own");
	ck_assert_uint_eq(options.n_manifest_dirs, 1);
	ck_assert_str_eq(options.manifest_dirs[0], "/m");
	ck_assert_int_eq(options.log_level, LOG_WARNING);
}
END_TEST

START_TEST(without_anything_all_defaults_are_filled)
{
	ck_assert_int_eq(READ(NULL), 0);
	ck_assert_ptr_null(options.config);
	ck_assert_ptr_nonnull(options.worker);
	ck_assert_uint_gt(options.n_manifest_dirs, 0);
	ck_assert_int_eq(options.socket[0], '/');
	ck_assert_int_eq(options.log_level, LOG_INFO);
}
END_TEST

START_TEST(the_usual_file_is_read_when_it_is_there)
{
	char path[300], usual[320];
	(void)snprintf(path, sizeof(path), "%s/kplug", place);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	(void)snprintf(usual, sizeof(usual), "%s/plugind.json", path);
	ck_assert_int_eq(rename(write_config("{\"socket\": \"/usual\"}"), usual), 0);
	ck_assert_int_eq(READ(NULL), 0);
	ck_assert_str_eq(options.socket, "/usual");
	ck_assert_str_eq(options.config, usual);
}
END_TEST

START_TEST(relative_paths_count_from_the_file_or_the_working_directory)
{
	char expected[300], here[1024];
	const char *path = write_config("{\"plugin_dir\": \"x/y\"}");
	ck_assert_int_eq(READ("--config", path, "--state-dir", "s"), 0);
	(void)snprintf(expected, sizeof(expected), "%s/x/y", place);
	ck_assert_str_eq(options.plugin_dir, expected);
	ck_assert_ptr_nonnull(getcwd(here, sizeof(here) - 2));
	ck_assert_str_eq(options.state_dir, strcat(here, "/s"));
}
END_TEST

static const struct {
	const char *text, *code, *object;
	unsigned line, column;
} wrong_files[] = {
	{"{\n  \"sockte\": \"/k\"\n}", "unknown_key", "sockte", 2, 3},
	{"{\"socket\": 7}", "wrong_type", "socket", 1, 2},
	{"{\"manifest_dir\": \"/a\"}", "wrong_type", "manifest_dir", 1, 2},
	{"{\"manifest_dir\": [\"/a\",\n 1]}", "wrong_type", "manifest_dir[1]", 2, 2},
	{"{\"system\": \"yes\"}", "wrong_type", "system", 1, 2},
	{"{\"log_level\": \"loud\"}", "bad_log_level", "log_level", 1, 2},
	{"{\"config\": \"/other\"}", "unknown_key", "config", 1, 2},
	{"{\"socket\": \"\"}", "usage", "socket", 1, 2},
	{"{\"a\": 1,\n}", "json_syntax", NULL, 2, 1},
	{"[]", "wrong_type", "", 1, 1},
};

START_TEST(a_wrong_file_is_refused_with_its_place)
{
	const char *path = write_config(wrong_files[_i].text);
	ck_assert_int_eq(READ("--config", path), -1);
	ck_assert_str_eq(diag.code, wrong_files[_i].code);
	ck_assert_str_eq(diag.file, path);
	if (wrong_files[_i].object)
		ck_assert_str_eq(diag.object, wrong_files[_i].object);
	ck_assert_uint_eq(diag.line, wrong_files[_i].line);
	ck_assert_uint_eq(diag.column, wrong_files[_i].column);
}
END_TEST

START_TEST(a_file_that_was_named_must_be_there)
{
	ck_assert_int_eq(READ("--config", "/nowhere/plugind.json"), -1);
	ck_assert_str_eq(diag.code, "missing_file");
}
END_TEST

static const char *const wrong_arguments[][3] = {
	{"--sockte", "/k"},
	{"--socket"},
	{"--socket", ""},
	{"--log-level", "loud"},
	{"stray"},
	{"-x"},
	{"--system=yes"},
};

START_TEST(a_wrong_argument_is_named)
{
	ck_assert_int_eq(read_arguments(wrong_arguments[_i]), -1);
	ck_assert_uint_gt(strlen(diag.message), 10);
	ck_assert(!strcmp(diag.code, "usage") || !strcmp(diag.code, "bad_log_level"));
}
END_TEST

START_TEST(help_and_version_need_nothing_else)
{
	ck_assert_int_eq(READ("--help", "--config", "/nowhere"), 0);
	ck_assert_int_eq(options.action, OPTIONS_HELP);
	options_finish(&options);
	ck_assert_int_eq(READ("--version"), 0);
	ck_assert_int_eq(options.action, OPTIONS_VERSION);
}
END_TEST

static const size_t lengths[] = {107, 108, 109, 300};

START_TEST(t66_a_socket_path_that_is_too_long_is_refused_with_both_numbers)
{
	char path[301], number[32];
	size_t length = lengths[_i];
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[length] = '\0';
	int result = READ("--socket", path);
	if (length <= SOCKET_PATH_MOST) {
		ck_assert_int_eq(result, 0);
		return;
	}
	ck_assert_int_eq(result, -1);
	ck_assert_str_eq(diag.code, "path_too_long");
	(void)snprintf(number, sizeof(number), " %zu ", length);
	ck_assert_ptr_nonnull(strstr(diag.message, number));
	ck_assert_ptr_nonnull(strstr(diag.message, " 107"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("options");
	TCase *tcase = tcase_create("options");
	tcase_add_checked_fixture(tcase, make_place, drop_place);
	tcase_add_test(tcase, every_option_is_taken_from_the_command_line);
	tcase_add_test(tcase, every_option_is_taken_from_the_file);
	tcase_add_test(tcase, the_command_line_beats_the_file);
	tcase_add_test(tcase, without_anything_all_defaults_are_filled);
	tcase_add_test(tcase, the_usual_file_is_read_when_it_is_there);
	tcase_add_test(
		tcase, relative_paths_count_from_the_file_or_the_working_directory);
	tcase_add_loop_test(tcase, a_wrong_file_is_refused_with_its_place, 0,
		sizeof(wrong_files) / sizeof(wrong_files[0]));
	tcase_add_test(tcase, a_file_that_was_named_must_be_there);
	tcase_add_loop_test(tcase, a_wrong_argument_is_named, 0,
		sizeof(wrong_arguments) / sizeof(wrong_arguments[0]));
	tcase_add_test(tcase, help_and_version_need_nothing_else);
	tcase_add_loop_test(tcase,
		t66_a_socket_path_that_is_too_long_is_refused_with_both_numbers, 0,
		sizeof(lengths) / sizeof(lengths[0]));
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
