/* SPDX-License-Identifier: MIT */
/* The store keeps what it was given, and notices what is not that any more. */
#include "daemon/store/store.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "daemon/store/tree.h"
#include "lib/base/file.h"
#include "tests/support/suite.h"

struct place {
	char root[256];
	char store[300];
};

static struct place place;
static struct kp_diag diag;

static void make_place(void)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(place.root, sizeof(place.root), "%s/kplug-store-XXXXXX",
		tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(place.root));
	snprintf(place.store, sizeof(place.store), "%s/store", place.root);
}

static void remove_place(void)
{
	ck_assert_int_eq(tree_remove(AT_FDCWD, place.root), 0);
}

static char *path_to(const char *name)
{
	char *path;
	ck_assert_int_gt(asprintf(&path, "%s/%s", place.root, name), 0);
	return path;
}

/* A file that nobody is writing: its time is a minute ago. */
static char *file(const char *name, const char *text)
{
	struct timespec times[2] = {
		{.tv_sec = time(NULL) - 60}, {.tv_sec = time(NULL) - 60}};
	char *path = path_to(name);
	char *slash = strrchr(path, '/');
	*slash = '\0';
	ck_assert_int_eq(kp_file_make_dirs(path, 0755, &diag), 0);
	*slash = '/';
	FILE *out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	fputs(text, out);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	return path;
}

static struct store *open_store(const char *boot)
{
	struct store *store = store_open(place.store, boot, &diag);
	ck_assert_msg(store != NULL, "%s", diag.message);
	return store;
}

static void add(struct draft *draft, const char *path)
{
	unsigned wait_ms;
	ck_assert_msg(draft_add(draft, path, &wait_ms, &diag) == DRAFT_ADDED, "%s",
		diag.message);
}

/* Puts one library in; returns its closure. */
static char *keep(struct store *store, const char *path, char closure[DIGEST_TEXT])
{
	bool damaged;
	char *entry;
	struct draft *draft = draft_new(store, &diag);
	ck_assert_ptr_nonnull(draft);
	add(draft, path);
	ck_assert_msg(draft_keep(draft, closure, &entry, &damaged, &diag) == 0, "%s",
		diag.message);
	draft_free(draft);
	return entry;
}

static void expect_wrong(const char *path, const char *code)
{
	unsigned wait_ms;
	struct store *store = open_store("boot");
	struct draft *draft = draft_new(store, &diag);
	ck_assert_int_eq(draft_add(draft, path, &wait_ms, &diag), DRAFT_WRONG);
	ck_assert_str_eq(diag.code, code);
	draft_free(draft);
	store_close(store);
}

static void expect_content(const char *path, const char *text)
{
	char *content;
	size_t size;
	ck_assert_msg(kp_file_read(AT_FDCWD, path, 1 << 20, &content, &size, &diag) == 0,
		"%s", diag.message);
	ck_assert_str_eq(content, text);
	free(content);
}

START_TEST(entry_holds_the_library_under_its_own_name)
{
	char closure[DIGEST_TEXT];
	struct store *store = open_store("boot");
	char *library = file("plugins/x.so", "bytes");
	char *entry = keep(store, library, closure);
	ck_assert_str_eq(entry, "x.so");
	char *path = store_path(store, closure, entry);
	expect_content(path, "bytes");
	free(path);
	free(entry);
	free(library);
	store_close(store);
}
END_TEST

START_TEST(closure_is_the_digest_of_the_sorted_lines)
{
	char closure[DIGEST_TEXT], line[DIGEST_TEXT], text[256];
	struct store *store = open_store("boot");
	char *library = file("x.so", "bytes");
	free(keep(store, library, closure));
	digest_bytes("bytes", 5, line);
	snprintf(text, sizeof(text), "%s  x.so\n", line);
	digest_bytes(text, strlen(text), line);
	ck_assert_str_eq(closure, line);
	free(library);
	store_close(store);
}
END_TEST

START_TEST(digest_is_sha256)
{
	char text[DIGEST_TEXT];
	digest_bytes("abc", 3, text);
	ck_assert_str_eq(
		text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
END_TEST

START_TEST(files_of_an_entry_are_read_only)
{
	char closure[DIGEST_TEXT];
	struct stat st;
	struct store *store = open_store("boot");
	char *library = file("x.so", "bytes");
	char *entry = keep(store, library, closure);
	char *path = store_path(store, closure, entry);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0444);
	*strrchr(path, '/') = '\0';
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0755);
	free(path);
	free(entry);
	free(library);
	store_close(store);
}
END_TEST

/* The tree: what lies above the library is kept in the same relation. */
static void expect_tree(const char *library, const char *other, const char *entry,
	const char *other_entry)
{
	char closure[DIGEST_TEXT];
	bool damaged;
	char *name;
	struct store *store = open_store("boot");
	struct draft *draft = draft_new(store, &diag);
	char *first = file(library, "library"), *second = file(other, "other");
	add(draft, first);
	add(draft, second);
	ck_assert_int_eq(draft_keep(draft, closure, &name, &damaged, &diag), 0);
	ck_assert_str_eq(name, entry);
	char *path = store_path(store, closure, name);
	expect_content(path, "library");
	free(path);
	path = store_path(store, closure, other_entry);
	expect_content(path, "other");
	free(path);
	draft_free(draft);
	free(first);
	free(second);
	free(name);
	store_close(store);
}

START_TEST(library_beside_is_beside_in_the_entry)
{
	expect_tree("p/x.so", "p/liby.so.1", "x.so", "liby.so.1");
}
END_TEST

START_TEST(library_below_is_below_in_the_entry)
{
	expect_tree("p/x.so", "p/lib/deep/liby.so", "x.so", "lib/deep/liby.so");
}
END_TEST

START_TEST(library_of_a_sibling_directory_is_so_in_the_entry)
{
	expect_tree("p/q/x.so", "p/qq/liby.so", "q/x.so", "qq/liby.so");
}
END_TEST

START_TEST(library_above_is_above_in_the_entry)
{
	expect_tree("p/q/r/x.so", "p/liby.so", "q/r/x.so", "liby.so");
}
END_TEST

START_TEST(paths_with_dots_are_the_same_file)
{
	unsigned wait_ms;
	struct store *store = open_store("boot");
	struct draft *draft = draft_new(store, &diag);
	char *library = file("p/x.so", "bytes"), *dotted = path_to("p/../p/./x.so");
	ck_assert_int_eq(draft_add(draft, library, &wait_ms, &diag), DRAFT_ADDED);
	ck_assert(draft_has(draft, dotted));
	free(library);
	free(dotted);
	draft_free(draft);
	store_close(store);
}
END_TEST

START_TEST(file_too_far_above_is_refused)
{
	unsigned wait_ms;
	struct store *store = open_store("boot");
	struct draft *draft = draft_new(store, &diag);
	char *library = file("a/b/c/d/e/f/g/h/i/x.so", "bytes"),
	     *far = file("y.so", "far");
	add(draft, library);
	ck_assert_int_eq(draft_add(draft, far, &wait_ms, &diag), DRAFT_WRONG);
	ck_assert_str_eq(diag.code, "outside");
	ck_assert_uint_eq(draft_count(draft), 1);
	free(library);
	free(far);
	draft_free(draft);
	store_close(store);
}
END_TEST

START_TEST(too_many_files_are_refused)
{
	unsigned wait_ms;
	struct store *store = open_store("boot");
	struct draft *draft = draft_new(store, &diag);
	char name[32];
	for (int i = 0; i < STORE_FILES; i++) {
		snprintf(name, sizeof(name), "%d.so", i);
		char *path = file(name, name);
		add(draft, path);
		free(path);
	}
	char *path = file("more.so", "more");
	ck_assert_int_eq(draft_add(draft, path, &wait_ms, &diag), DRAFT_WRONG);
	ck_assert_str_eq(diag.code, "too_many_files");
	free(path);
	draft_free(draft);
	store_close(store);
}
END_TEST

START_TEST(same_content_is_stored_once)
{
	char one[DIGEST_TEXT], two[DIGEST_TEXT];
	struct store *store = open_store("boot");
	char *a = file("a/x.so", "bytes"), *b = file("b/x.so", "bytes");
	free(keep(store, a, one));
	free(keep(store, b, two));
	ck_assert_str_eq(one, two);
	ck_assert(store_has(store, one, NULL));
	free(a);
	free(b);
	store_close(store);
}
END_TEST

START_TEST(other_content_has_another_closure)
{
	char one[DIGEST_TEXT], two[DIGEST_TEXT];
	struct store *store = open_store("boot");
	char *a = file("x.so", "bytes");
	free(keep(store, a, one));
	free(a);
	a = file("x.so", "Bytes");
	free(keep(store, a, two));
	ck_assert_str_ne(one, two);
	free(a);
	store_close(store);
}
END_TEST

/* Writes into a stored file, as a power failure does. */
static void spoil(struct store *store, const char *closure, const char *entry)
{
	char *path = store_path(store, closure, entry);
	ck_assert_int_eq(chmod(path, 0644), 0);
	ck_assert_int_eq(truncate(path, 1), 0);
	free(path);
}

START_TEST(entry_is_hashed_again_after_a_boot)
{
	char closure[DIGEST_TEXT];
	bool damaged = false;
	struct store *store = open_store("first");
	char *library = file("x.so", "bytes");
	char *entry = keep(store, library, closure);
	spoil(store, closure, entry);
	store_close(store);
	store = open_store("second");
	ck_assert(!store_has(store, closure, &damaged));
	ck_assert(damaged);
	store_close(store);
	free(entry);
	free(library);
}
END_TEST

START_TEST(good_entry_survives_a_boot)
{
	char closure[DIGEST_TEXT];
	bool damaged = false;
	struct store *store = open_store("first");
	char *library = file("x.so", "bytes");
	free(keep(store, library, closure));
	store_close(store);
	store = open_store("second");
	ck_assert(store_has(store, closure, &damaged));
	ck_assert(!damaged);
	store_close(store);
	free(library);
}
END_TEST

START_TEST(entry_that_changes_within_a_boot_is_hashed_again)
{
	char closure[DIGEST_TEXT];
	bool damaged = false;
	struct store *store = open_store("first");
	char *library = file("x.so", "bytes");
	char *entry = keep(store, library, closure);
	ck_assert(store_has(store, closure, &damaged));
	ck_assert(!damaged);
	spoil(store, closure, entry);
	ck_assert(!store_has(store, closure, &damaged));
	ck_assert(damaged);
	store_close(store);
	free(entry);
	free(library);
}
END_TEST

/* Makes the mark of an entry that of what is there now, whatever that is. */
static void mark_falsely(const char *closure)
{
	char name[64 + DIGEST_TEXT], stamps[DIGEST_TEXT];
	char *dir = path_to("store");
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(tree_stamps(fd, closure, STORE_FILES, stamps, NULL), 0);
	snprintf(name, sizeof(name), ".boot/first/%s", closure);
	int mark = openat(fd, name, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ck_assert_int_ge(mark, 0);
	ck_assert_int_eq(write(mark, stamps, DIGEST_TEXT - 1), (ssize_t)DIGEST_TEXT - 1);
	close(mark);
	close(fd);
	free(dir);
}

START_TEST(entry_with_its_stamps_is_not_hashed_until_it_is_doubted)
{
	char closure[DIGEST_TEXT];
	bool damaged = false;
	struct store *store = open_store("first");
	char *library = file("x.so", "bytes");
	char *entry = keep(store, library, closure);
	spoil(store, closure, entry);
	mark_falsely(closure);
	ck_assert(store_has(store, closure, &damaged));
	store_doubt(store, closure);
	ck_assert(!store_has(store, closure, &damaged));
	ck_assert(damaged);
	store_close(store);
	free(entry);
	free(library);
}
END_TEST

START_TEST(draft_that_doubts_does_not_believe_a_mark)
{
	char closure[DIGEST_TEXT], again[DIGEST_TEXT];
	bool damaged = false;
	struct store *store = open_store("first");
	char *library = file("x.so", "bytes");
	char *entry = keep(store, library, closure);
	spoil(store, closure, entry);
	mark_falsely(closure);
	struct draft *draft = draft_new(store, &diag);
	draft_doubt(draft);
	add(draft, library);
	free(entry);
	ck_assert_int_eq(draft_keep(draft, again, &entry, &damaged, &diag), 0);
	ck_assert(damaged);
	char *path = store_path(store, closure, entry);
	expect_content(path, "bytes");
	free(path);
	draft_free(draft);
	store_close(store);
	free(entry);
	free(library);
}
END_TEST

START_TEST(damaged_entry_is_set_aside_and_made_again)
{
	char closure[DIGEST_TEXT], again[DIGEST_TEXT];
	char name[32 + DIGEST_TEXT];
	bool damaged = false;
	struct store *store = open_store("first");
	char *library = file("x.so", "bytes");
	char *entry = keep(store, library, closure);
	spoil(store, closure, entry);
	store_close(store);
	store = open_store("second");
	struct draft *draft = draft_new(store, &diag);
	add(draft, library);
	free(entry);
	ck_assert_int_eq(draft_keep(draft, again, &entry, &damaged, &diag), 0);
	ck_assert(damaged);
	ck_assert_str_eq(again, closure);
	char *path = store_path(store, closure, entry);
	expect_content(path, "bytes");
	free(path);
	snprintf(name, sizeof(name), "store/.damaged-%s/x.so", closure);
	path = path_to(name);
	expect_content(path, "b");
	free(path);
	draft_free(draft);
	store_close(store);
	free(entry);
	free(library);
}
END_TEST

START_TEST(further_file_in_an_entry_is_damage)
{
	char closure[DIGEST_TEXT];
	bool damaged = false;
	struct store *store = open_store("first");
	char *library = file("x.so", "bytes");
	free(keep(store, library, closure));
	char *path = store_path(store, closure, "y.so");
	*strrchr(path, '/') = '\0';
	ck_assert_int_eq(chmod(path, 0755), 0);
	path[strlen(path)] = '/';
	FILE *out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	fclose(out);
	store_close(store);
	store = open_store("second");
	ck_assert(!store_has(store, closure, &damaged));
	ck_assert(damaged);
	store_close(store);
	free(path);
	free(library);
}
END_TEST

START_TEST(drafts_of_an_earlier_run_are_removed)
{
	struct store *store = open_store("boot");
	struct draft *draft = draft_new(store, &diag);
	char *library = file("x.so", "bytes");
	add(draft, library);
	struct store *later = open_store("boot");
	unsigned wait_ms;
	/* Its directory is gone: nothing more can be put there. */
	char *other = file("y.so", "bytes");
	ck_assert_int_eq(draft_add(draft, other, &wait_ms, &diag), DRAFT_WRONG);
	draft_free(draft);
	store_close(later);
	store_close(store);
	free(library);
	free(other);
}
END_TEST

START_TEST(dropped_draft_leaves_nothing)
{
	struct store *store = open_store("boot");
	struct draft *draft = draft_new(store, &diag);
	char *library = file("x.so", "bytes");
	add(draft, library);
	draft_free(draft);
	store_close(store);
	char *store_dir = path_to("store");
	char *marks = path_to("store/.boot");
	ck_assert_int_eq(tree_remove(AT_FDCWD, marks), 0);
	ck_assert_int_eq(rmdir(store_dir), 0);
	free(marks);
	free(store_dir);
	free(library);
}
END_TEST

START_TEST(t01_fifo_is_not_a_regular_file)
{
	char *path = path_to("x.so");
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	expect_wrong(path, "not_regular_file");
	free(path);
}
END_TEST

START_TEST(t01_socket_is_not_a_regular_file)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char *path = path_to("x.so");
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	expect_wrong(path, "not_regular_file");
	close(fd);
	free(path);
}
END_TEST

START_TEST(t01_device_is_not_a_regular_file)
{
	expect_wrong("/dev/zero", "not_regular_file");
}
END_TEST

START_TEST(t03_directory_is_not_a_regular_file)
{
	char *path = path_to("x.so");
	ck_assert_int_eq(mkdir(path, 0755), 0);
	expect_wrong(path, "not_regular_file");
	free(path);
}
END_TEST

START_TEST(t03_dangling_link_is_said_to_be_one)
{
	char *path = path_to("x.so");
	ck_assert_int_eq(symlink("nowhere.so", path), 0);
	expect_wrong(path, "dangling_link");
	ck_assert_ptr_nonnull(strstr(diag.message, "nowhere.so"));
	free(path);
}
END_TEST

START_TEST(t03_link_loop_is_said_to_be_one)
{
	char *path = path_to("x.so");
	ck_assert_int_eq(symlink("x.so", path), 0);
	expect_wrong(path, "link_loop");
	free(path);
}
END_TEST

START_TEST(t03_absent_file_is_missing)
{
	char *path = path_to("x.so");
	expect_wrong(path, "missing_file");
	free(path);
}
END_TEST

START_TEST(file_over_the_bound_is_too_large)
{
	char *path = file("x.so", "");
	ck_assert_int_eq(truncate(path, ((off_t)STORE_FILE_MIB << 20) + 1), 0);
	expect_wrong(path, "file_too_large");
	free(path);
}
END_TEST

START_TEST(t16_file_just_written_is_young)
{
	unsigned wait_ms = 0;
	struct store *store = open_store("boot");
	struct draft *draft = draft_new(store, &diag);
	char *path = file("x.so", "half");
	ck_assert_int_eq(utimensat(AT_FDCWD, path, NULL, 0), 0);
	ck_assert_int_eq(draft_add(draft, path, &wait_ms, &diag), DRAFT_YOUNG);
	ck_assert_uint_gt(wait_ms, 0);
	ck_assert_uint_le(wait_ms, STAMP_SETTLE_MS);
	ck_assert_uint_eq(draft_count(draft), 0);
	draft_free(draft);
	store_close(store);
	free(path);
}
END_TEST

START_TEST(t16_file_that_grew_is_another)
{
	struct stamp before, after;
	char *path = file("x.so", "half");
	stamp_take(path, &before);
	FILE *out = fopen(path, "a");
	fputs("other half", out);
	fclose(out);
	stamp_take(path, &after);
	ck_assert(!stamp_equal(&before, &after));
	free(path);
}
END_TEST

START_TEST(t16_time_in_the_future_is_not_waited_for)
{
	struct stamp stamp = {.exists = true, .mtime = 5000000000};
	ck_assert_uint_eq(stamp_settles_in(&stamp, 1000000000), 0);
	ck_assert_uint_eq(stamp_settles_in(&stamp, 5000000000), STAMP_SETTLE_MS);
	ck_assert_uint_eq(stamp_settles_in(&stamp, 6000000000), 0);
}
END_TEST

START_TEST(store_that_cannot_be_made_is_said)
{
	char *path = file("store", "a file in the way");
	ck_assert_ptr_null(store_open(place.store, "boot", &diag));
	ck_assert_ptr_nonnull(strstr(diag.message, place.store));
	free(path);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("store");
	TCase *t = tcase_create("store");
	tcase_add_checked_fixture(t, make_place, remove_place);
	tcase_add_test(t, entry_holds_the_library_under_its_own_name);
	tcase_add_test(t, closure_is_the_digest_of_the_sorted_lines);
	tcase_add_test(t, digest_is_sha256);
	tcase_add_test(t, files_of_an_entry_are_read_only);
	tcase_add_test(t, library_beside_is_beside_in_the_entry);
	tcase_add_test(t, library_below_is_below_in_the_entry);
	tcase_add_test(t, library_of_a_sibling_directory_is_so_in_the_entry);
	tcase_add_test(t, library_above_is_above_in_the_entry);
	tcase_add_test(t, paths_with_dots_are_the_same_file);
	tcase_add_test(t, file_too_far_above_is_refused);
	tcase_add_test(t, too_many_files_are_refused);
	tcase_add_test(t, same_content_is_stored_once);
	tcase_add_test(t, other_content_has_another_closure);
	tcase_add_test(t, entry_is_hashed_again_after_a_boot);
	tcase_add_test(t, good_entry_survives_a_boot);
	tcase_add_test(t, entry_that_changes_within_a_boot_is_hashed_again);
	tcase_add_test(t, entry_with_its_stamps_is_not_hashed_until_it_is_doubted);
	tcase_add_test(t, draft_that_doubts_does_not_believe_a_mark);
	tcase_add_test(t, damaged_entry_is_set_aside_and_made_again);
	tcase_add_test(t, further_file_in_an_entry_is_damage);
	tcase_add_test(t, drafts_of_an_earlier_run_are_removed);
	tcase_add_test(t, dropped_draft_leaves_nothing);
	tcase_add_test(t, t01_fifo_is_not_a_regular_file);
	tcase_add_test(t, t01_socket_is_not_a_regular_file);
	tcase_add_test(t, t01_device_is_not_a_regular_file);
	tcase_add_test(t, t03_directory_is_not_a_regular_file);
	tcase_add_test(t, t03_dangling_link_is_said_to_be_one);
	tcase_add_test(t, t03_link_loop_is_said_to_be_one);
	tcase_add_test(t, t03_absent_file_is_missing);
	tcase_add_test(t, file_over_the_bound_is_too_large);
	tcase_add_test(t, t16_file_just_written_is_young);
	tcase_add_test(t, t16_file_that_grew_is_another);
	tcase_add_test(t, t16_time_in_the_future_is_not_waited_for);
	tcase_add_test(t, store_that_cannot_be_made_is_said);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return suite_run(suite());
}
