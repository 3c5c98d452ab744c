/* SPDX-License-Identifier: MIT */
/* The loader's cache: this machine's, and ones of our own, cut and behind old tables. */
#include "daemon/worker/ld_cache.h"
#include "tests/support/suite.h"

#include <check.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER = 48, ENTRY = 24, OLD_HEADER = 16, OLD_ENTRY = 12 };

static char path[PATH_MAX];

static void set_up(void)
{
	const char *base = getenv("TMPDIR");
	snprintf(path, sizeof(path), "%s/kplug-cache.XXXXXX", base ? base : "/tmp");
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void tear_down(void)
{
	unlink(path);
}

static void write_file(const char *bytes, size_t size)
{
	FILE *file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
	ck_assert_int_eq(fclose(file), 0);
}

static void put(char *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

/* One entry, at `table`; returns its size. */
static size_t make_table(char *table, const char *soname, const char *library)
{
	size_t strings = HEADER + ENTRY;
	memset(table, 0, strings);
	memcpy(table, "glibc-ld.so.cache1.1", 20);
	put(table + 20, 1);
	put(table + 24, (uint32_t)(strlen(soname) + strlen(library) + 2));
	put(table + HEADER + 4, (uint32_t)strings);
	put(table + HEADER + 8, (uint32_t)(strings + strlen(soname) + 1));
	strcpy(table + strings, soname);
	strcpy(table + strings + strlen(soname) + 1, library);
	return strings + strlen(soname) + strlen(library) + 2;
}

static bool accept_all(void *context, const char *library)
{
	snprintf(context, PATH_MAX, "%s", library);
	return true;
}

static bool accept_none(void *context, const char *library)
{
	(void)library;
	++*(unsigned *)context;
	return false;
}

START_TEST(the_c_library_is_in_the_cache_of_this_machine)
{
	char found[PATH_MAX] = "";
	if (access(LD_CACHE_PATH, R_OK) < 0)
		return;
	ck_assert(ld_cache_find(LD_CACHE_PATH, "libc.so.6", accept_all, found));
	ck_assert_int_eq(access(found, R_OK), 0);
}
END_TEST

START_TEST(an_entry_is_found_by_its_soname_only)
{
	char table[256];
	char found[PATH_MAX];
	write_file(table, make_table(table, "libx.so.1", "/lib/libx.so.1"));
	ck_assert(ld_cache_find(path, "libx.so.1", accept_all, found));
	ck_assert_str_eq(found, "/lib/libx.so.1");
	ck_assert(!ld_cache_find(path, "libx.so", accept_all, found));
}
END_TEST

START_TEST(a_table_behind_an_old_one_is_read)
{
	char bytes[512] = "ld.so-1.7.0";
	char found[PATH_MAX];
	size_t start = (OLD_HEADER + 3 * OLD_ENTRY + 7) / 8 * 8;
	put(bytes + 12, 3);
	write_file(bytes, start + make_table(bytes + start, "libx.so.1", "/x"));
	ck_assert(ld_cache_find(path, "libx.so.1", accept_all, found));
	ck_assert_str_eq(found, "/x");
}
END_TEST

START_TEST(what_is_not_accepted_is_not_found)
{
	char table[256];
	unsigned offered = 0;
	write_file(table, make_table(table, "libx.so.1", "/x"));
	ck_assert(!ld_cache_find(path, "libx.so.1", accept_none, &offered));
	ck_assert_uint_eq(offered, 1);
}
END_TEST

START_TEST(a_cache_cut_anywhere_finds_nothing)
{
	char table[256];
	char found[PATH_MAX];
	size_t size = make_table(table, "libx.so.1", "/x");
	for (size_t cut = 0; cut < size; cut++) {
		write_file(table, cut);
		ck_assert(!ld_cache_find(path, "libx.so.1", accept_all, found));
	}
}
END_TEST

START_TEST(counts_and_offsets_out_of_bounds_find_nothing)
{
	static const size_t places[] = {20, HEADER + 4, HEADER + 8};
	char table[256];
	char found[PATH_MAX];
	size_t size = make_table(table, "libx.so.1", "/x");
	for (size_t i = 0; i < 3; i++) {
		make_table(table, "libx.so.1", "/x");
		put(table + places[i], 0xfffffff0);
		write_file(table, size);
		ck_assert(!ld_cache_find(path, "libx.so.1", accept_all, found));
	}
	memset(table, 0, sizeof(table));
	memcpy(table, "ld.so-1.7.0", 11);
	put(table + 12, 0xffffffff);
	write_file(table, size);
	ck_assert(!ld_cache_find(path, "libx.so.1", accept_all, found));
}
END_TEST

START_TEST(a_missing_cache_finds_nothing)
{
	char found[PATH_MAX];
	ck_assert(!ld_cache_find("/nonexistent", "libx.so.1", accept_all, found));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ld_cache");
	TCase *tcase = tcase_create("ld_cache");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, the_c_library_is_in_the_cache_of_this_machine);
	tcase_add_test(tcase, an_entry_is_found_by_its_soname_only);
	tcase_add_test(tcase, a_table_behind_an_old_one_is_read);
	tcase_add_test(tcase, what_is_not_accepted_is_not_found);
	tcase_add_test(tcase, a_cache_cut_anywhere_finds_nothing);
	tcase_add_test(tcase, counts_and_offsets_out_of_bounds_find_nothing);
	tcase_add_test(tcase, a_missing_cache_finds_nothing);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
