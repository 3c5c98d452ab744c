/* SPDX-License-Identifier: MIT */
/* Files: opened with care, read within bounds, replaced whole. */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "tests/support/suite.h"

static char root[200];
static int dir = -1;

static void setup(void)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(root, sizeof(root), "%.100s/kplug-file-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(root));
	dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
}

static void teardown(void)
{
	char command[256];
	kp_file_close(&dir);
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	ck_assert_int_eq(system(command), 0);
}

static void put(const char *name, const char *bytes, size_t size)
{
	struct kp_diag diag;
	int result = kp_file_replace(dir, name, bytes, size, 0644, false, &diag);
	ck_assert_msg(result == 0, "%s", diag.message);
}

static void open_fails(const char *name, const char *code, const char *part)
{
	struct kp_diag diag;
	struct stat st;
	ck_assert_int_eq(kp_file_open(dir, name, &st, &diag), -1);
	ck_assert_str_eq(diag.code, code);
	ck_assert_str_eq(diag.object, name);
	ck_assert_msg(strstr(diag.message, part) != NULL, "%s", diag.message);
}

START_TEST(t01_fifo_is_refused_without_waiting)
{
	ck_assert_int_eq(mkfifoat(dir, "x.so", 0644), 0);
	open_fails("x.so", "not_regular_file", "a FIFO");
	ck_assert_int_eq(symlinkat("x.so", dir, "link"), 0);
	open_fails("link", "not_regular_file", "a FIFO");
	char *text = NULL;
	size_t size;
	struct kp_diag diag;
	ck_assert_int_eq(kp_file_read(dir, "x.so", 10, &text, &size, &diag), -1);
	ck_assert_ptr_null(text);
}
END_TEST

START_TEST(t03_each_cause_has_its_code)
{
	ck_assert_int_eq(mkdirat(dir, "directory.so", 0755), 0);
	open_fails("directory.so", "not_regular_file", "a directory");
	ck_assert_int_eq(symlinkat("nowhere", dir, "dangling"), 0);
	open_fails("dangling", "missing_file", "No such file");
	open_fails("absent", "missing_file", "No such file");
	put("file", "", 0);
	open_fails("file/below", "missing_file", "Not a directory");
	ck_assert_int_eq(symlinkat("loop", dir, "loop"), 0);
	open_fails("loop", "link_loop", "symbolic links");
	open_fails("/dev/null", "not_regular_file", "a device");
}
END_TEST

START_TEST(t03_socket_is_no_regular_file)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/s", root);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	open_fails("s", "not_regular_file", "s");
	close(fd);
}
END_TEST

/* As another user, where this one may read everything. */
START_TEST(unreadable_file_is_not_permitted)
{
	put("secret", "x", 1);
	ck_assert_int_eq(fchmodat(dir, "secret", 0, 0), 0);
	ck_assert_int_eq(chmod(root, 0755), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct kp_diag diag;
		if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
			_exit(2);
		bool refused = kp_file_open(dir, "secret", NULL, &diag) < 0 &&
			       strcmp(diag.code, "not_permitted") == 0;
		_exit(refused ? 0 : 1);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

START_TEST(opened_file_is_close_on_exec_and_known)
{
	struct kp_diag diag;
	struct stat st;
	put("file", "abc", 3);
	int fd = kp_file_open(dir, "file", &st, &diag);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ck_assert_int_eq(st.st_size, 3);
	kp_file_close(&fd);
	ck_assert_int_eq(fd, -1);
	kp_file_close(&fd);
}
END_TEST

static const struct {
	size_t size, limit;
	bool fits;
} sizes[] = {{0, 0, true}, {0, 10, true}, {1, 0, false}, {10, 10, true}, {11, 10, false},
	{4096, 4096, true}, {4097, 4096, false}, {100000, 1 << 20, true},
	{100000, 99999, false}};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

START_TEST(whole_file_is_read_up_to_the_limit)
{
	char *made = malloc(sizes[_i].size + 1);
	char *text = NULL;
	size_t size = 77;
	struct kp_diag diag;
	ck_assert_ptr_nonnull(made);
	for (size_t i = 0; i < sizes[_i].size; i++)
		made[i] = (char)(i * 31);
	put("file", made, sizes[_i].size);
	int result = kp_file_read(dir, "file", sizes[_i].limit, &text, &size, &diag);
	ck_assert_int_eq(result, sizes[_i].fits ? 0 : -1);
	if (sizes[_i].fits) {
		ck_assert_uint_eq(size, sizes[_i].size);
		ck_assert_mem_eq(text, made, size);
		ck_assert_int_eq(text[size], '\0');
	} else {
		ck_assert_str_eq(diag.code, "file_too_large");
		ck_assert_ptr_null(text);
		ck_assert_uint_eq(size, 77);
	}
	free(text);
	free(made);
}
END_TEST

START_TEST(file_that_states_no_size_is_read_to_its_end)
{
	static const char *const files[] = {
		"/proc/self/maps", "/proc/self/mountinfo", "/proc/filesystems"};
	for (size_t i = 0; i < 3; i++) {
		struct kp_diag diag;
		char *text;
		size_t size;
		int result =
			kp_file_read(AT_FDCWD, files[i], 1 << 24, &text, &size, &diag);
		ck_assert_msg(result == 0, "%s", diag.message);
		ck_assert_uint_gt(size, 0);
		ck_assert_uint_eq(strlen(text), size);
		ck_assert_int_eq(text[size - 1], '\n');
		free(text);
	}
}
END_TEST

START_TEST(replaced_file_has_content_and_mode)
{
	struct kp_diag diag;
	struct stat st;
	char *text;
	size_t size;
	put("file", "old and longer", 14);
	ck_assert_int_eq(kp_file_replace(dir, "file", "new", 3, 0600, true, &diag), 0);
	ck_assert_int_eq(fstatat(dir, "file", &st, 0), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	ck_assert_int_eq(kp_file_read(dir, "file", 100, &text, &size, &diag), 0);
	ck_assert_str_eq(text, "new");
	free(text);
}
END_TEST

START_TEST(reader_keeps_the_file_that_it_opened)
{
	struct kp_diag diag;
	char byte;
	put("file", "1", 1);
	int fd = kp_file_open(dir, "file", NULL, &diag);
	put("file", "2", 1);
	ck_assert_int_eq(read(fd, &byte, 1), 1);
	ck_assert_int_eq(byte, '1');
	kp_file_close(&fd);
}
END_TEST

START_TEST(link_is_replaced_not_followed)
{
	struct stat st;
	put("target", "kept", 4);
	ck_assert_int_eq(symlinkat("target", dir, "link"), 0);
	put("link", "new", 3);
	ck_assert_int_eq(fstatat(dir, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert(S_ISREG(st.st_mode));
	ck_assert_int_eq(fstatat(dir, "target", &st, 0), 0);
	ck_assert_int_eq(st.st_size, 4);
}
END_TEST

static size_t count_files(void)
{
	size_t count = 0;
	DIR *stream = opendir(root);
	ck_assert_ptr_nonnull(stream);
	for (struct dirent *file; (file = readdir(stream));)
		count +=
			strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0;
	closedir(stream);
	return count;
}

START_TEST(failed_replacement_leaves_nothing_behind)
{
	char name[400];
	struct kp_diag diag;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ck_assert_int_eq(mkdirat(dir, "taken", 0755), 0);
	ck_assert_int_eq(kp_file_replace(dir, "taken", "x", 1, 0644, false, &diag), -1);
	ck_assert_str_eq(diag.code, "write_failed");
	ck_assert_str_eq(diag.object, "taken");
	ck_assert_int_eq(kp_file_replace(dir, name, "x", 1, 0644, false, &diag), -1);
	ck_assert_str_eq(diag.code, "write_failed");
	ck_assert_int_eq(kp_file_replace(dir, "no/dir", "x", 1, 0644, false, &diag), -1);
	ck_assert_uint_eq(count_files(), 1);
}
END_TEST

START_TEST(temporary_file_of_a_killed_writer_is_no_obstacle)
{
	put(".file.new", "half of something longer", 24);
	put("file", "whole", 5);
	ck_assert_uint_eq(count_files(), 1);
}
END_TEST

static const struct {
	const char *path;
	bool works;
} trees[] = {{"a", true}, {"a/b/c", true}, {"a//b/", true}, {"", true}, {"file", false},
	{"file/x", false}, {"dangling", false}, {"dangling/x", false}};
enum { TREES = sizeof(trees) / sizeof(trees[0]) };

START_TEST(directories_are_made_and_found)
{
	char path[300];
	struct kp_diag diag;
	struct stat st;
	put("file", "", 0);
	ck_assert_int_eq(symlinkat("nowhere", dir, "dangling"), 0);
	snprintf(path, sizeof(path), "%s/%s", root, trees[_i].path);
	for (int twice = 0; twice < 2; twice++) {
		int result = kp_file_make_dirs(path, 0700, &diag);
		ck_assert_int_eq(result, trees[_i].works ? 0 : -1);
	}
	if (trees[_i].works) {
		ck_assert_int_eq(stat(path, &st), 0);
		ck_assert(S_ISDIR(st.st_mode));
	} else {
		ck_assert_str_eq(diag.code, "write_failed");
	}
}
END_TEST

START_TEST(relative_and_empty_paths_of_directories)
{
	struct kp_diag diag;
	struct stat st;
	ck_assert_int_eq(fchdir(dir), 0);
	ck_assert_int_eq(kp_file_make_dirs("r/s", 0755, &diag), 0);
	ck_assert_int_eq(fstatat(dir, "r/s", &st, 0), 0);
	ck_assert_int_eq(kp_file_make_dirs("/", 0755, &diag), 0);
	ck_assert_int_eq(kp_file_make_dirs("", 0755, &diag), -1);
	ck_assert_str_eq(diag.code, "write_failed");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("file");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, t01_fifo_is_refused_without_waiting);
	tcase_add_test(tcase, t03_each_cause_has_its_code);
	tcase_add_test(tcase, t03_socket_is_no_regular_file);
	tcase_add_test(tcase, unreadable_file_is_not_permitted);
	tcase_add_test(tcase, opened_file_is_close_on_exec_and_known);
	tcase_add_loop_test(tcase, whole_file_is_read_up_to_the_limit, 0, SIZES);
	tcase_add_test(tcase, file_that_states_no_size_is_read_to_its_end);
	tcase_add_test(tcase, replaced_file_has_content_and_mode);
	tcase_add_test(tcase, reader_keeps_the_file_that_it_opened);
	tcase_add_test(tcase, link_is_replaced_not_followed);
	tcase_add_test(tcase, failed_replacement_leaves_nothing_behind);
	tcase_add_test(tcase, temporary_file_of_a_killed_writer_is_no_obstacle);
	tcase_add_loop_test(tcase, directories_are_made_and_found, 0, TREES);
	tcase_add_test(tcase, relative_and_empty_paths_of_directories);
	Suite *suite = suite_create("file");
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
