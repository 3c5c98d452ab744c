/* SPDX-License-Identifier: MIT */
/* The cache keeps verdicts by what they depend on, and survives its own file. */
#include "daemon/store/cache.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/store/tree.h"
#include "lib/base/file.h"
#include "lib/base/hash.h"
#include "tests/support/suite.h"

static const int64_t now = 1000000000;
static const char key[] = "aa";
static char dir[256];
static struct kp_diag diag;
static struct cache cache;

static void make(void)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(dir, sizeof(dir), "%s/kplug-cache-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(cache_init(&cache), 0);
}

static void unmake(void)
{
	cache_finish(&cache);
	ck_assert_int_eq(tree_remove(AT_FDCWD, dir), 0);
}

static void put_file(const char *library, int64_t at)
{
	struct stamp stamp = {true, 1, 2, 3, 4, 5}, absent = {.exists = false};
	json_t *parts = json_pack("[[s, s]]", "/p/liby.so", "d1");
	json_t *needs = json_pack("[{s:s, s:n}]", "name", "libc.so.6", "path");
	struct trace *trace = trace_new();
	ck_assert_int_eq(trace_add(trace, library, &stamp), 0);
	ck_assert_int_eq(trace_add(trace, "/p/not-there", &absent), 0);
	struct cache_file file = {"d0", "c0", "x.so", "deps", key, parts, needs, trace};
	cache_put(&cache, library, &file, at);
	trace_unref(trace);
	json_decref(parts);
	json_decref(needs);
}

static void put_verdict(const char *state, unsigned timeout_ms, int64_t at)
{
	cache_put_verdict(
		&cache, key, timeout_ms, at, json_pack("{s:s}", "state", state));
}

/* Writes the cache and reads it into an empty one. */
static int again(void)
{
	ck_assert_msg(cache_write(&cache, dir, &diag) == 0, "%s", diag.message);
	cache_finish(&cache);
	ck_assert_int_eq(cache_init(&cache), 0);
	return cache_read(&cache, dir, now, &diag);
}

static void write_text(const char *text)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(
		kp_file_replace(fd, "probe", text, strlen(text), 0644, false, &diag), 0);
	close(fd);
}

/* The same, with the last line that belongs to it. */
static void write_whole(const char *text)
{
	char sum[KP_HASH_TEXT];
	char whole[1024];
	snprintf(whole, sizeof(whole), "%s{\"sum\":\"%s\"}\n", text,
		kp_hash_print(text, strlen(text), sum));
	write_text(whole);
}

static bool is_there(const char *name)
{
	char path[300];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

static void expect_damage(const char *text)
{
	write_text(text);
	ck_assert_int_eq(cache_read(&cache, dir, now, &diag), 1);
	ck_assert_str_eq(diag.code, "cache_damaged");
	ck_assert_uint_eq(json_object_size(cache.files), 0);
	ck_assert_uint_eq(json_object_size(cache.verdicts), 0);
	ck_assert(!is_there("probe"));
	ck_assert(is_there("probe.damaged"));
}

START_TEST(file_comes_back_as_it_was_put)
{
	struct cache_file file;
	put_file("/p/x.so", now);
	ck_assert_int_eq(again(), 0);
	ck_assert_int_eq(cache_decode(cache_find(&cache, "/p/x.so"), &file), 0);
	ck_assert_str_eq(file.digest, "d0");
	ck_assert_str_eq(file.closure, "c0");
	ck_assert_str_eq(file.entry, "x.so");
	ck_assert_str_eq(file.deps, "deps");
	ck_assert_uint_eq(json_array_size(file.parts), 1);
	ck_assert_uint_eq(json_array_size(file.needs), 1);
	ck_assert_uint_eq(file.trace->count, 2);
	ck_assert(file.trace->items[0].stamp.exists);
	ck_assert_int_eq(file.trace->items[0].stamp.ctime, 5);
	ck_assert(!file.trace->items[1].stamp.exists);
	trace_unref(file.trace);
}
END_TEST

START_TEST(verdict_comes_back_as_it_was_put)
{
	put_verdict("active", 10, now);
	ck_assert_int_eq(again(), 0);
	const json_t *verdict = cache_verdict(&cache, key, 20);
	ck_assert_str_eq(json_string_value(json_object_get(verdict, "state")), "active");
}
END_TEST

/* How many there are once so many more were put, each with a key of its own. */
static size_t put_more(int count)
{
	char own[DIGEST_TEXT];

	for (int i = 0; i < count; i++) {
		(void)snprintf(own, sizeof(own), "%064d", i);
		cache_put_verdict(
			&cache, own, 10, now, json_pack("{s:s}", "state", "active"));
	}
	return json_object_size(cache.verdicts);
}

static bool has(int i)
{
	char own[DIGEST_TEXT];

	(void)snprintf(own, sizeof(own), "%064d", i);
	return cache_verdict(&cache, own, 10) != NULL;
}

START_TEST(of_verdicts_that_no_file_has_the_oldest_go)
{
	enum { MOST = CACHE_SPARE + 1, MANY = 3 * MOST };

	put_verdict("active", 10, now);
	put_file("/p/x.so", now);
	ck_assert_uint_le(put_more(MANY), MOST);
	ck_assert_ptr_nonnull(cache_verdict(&cache, key, 10));
	ck_assert(!has(0) && !has(MOST));
	for (int i = MANY - MOST / 2; i < MANY; i++)
		ck_assert(has(i));
	/* Nor after it was written and read. */
	ck_assert_int_eq(again(), 0);
	ck_assert_uint_le(put_more(MANY), MOST);
	ck_assert_ptr_nonnull(cache_verdict(&cache, key, 10));
}
END_TEST

START_TEST(failure_holds_for_its_timeout_only)
{
	put_verdict("failed", 10, now);
	ck_assert_ptr_nonnull(cache_verdict(&cache, key, 10));
	ck_assert_ptr_null(cache_verdict(&cache, key, 20));
}
END_TEST

START_TEST(nothing_known_is_nothing_found)
{
	ck_assert_int_eq(cache_read(&cache, dir, now, &diag), 0);
	ck_assert_ptr_null(cache_find(&cache, "/p/x.so"));
	ck_assert_ptr_null(cache_verdict(&cache, key, 10));
}
END_TEST

START_TEST(missing_directory_is_an_empty_cache)
{
	ck_assert_int_eq(cache_read(&cache, "/nowhere/at/all", now, &diag), 0);
}
END_TEST

START_TEST(forgotten_file_is_unknown)
{
	put_file("/p/x.so", now);
	cache_forget(&cache, "/p/x.so");
	ck_assert_ptr_null(cache_find(&cache, "/p/x.so"));
}
END_TEST

START_TEST(old_entries_are_dropped)
{
	const int64_t day = 24 * 60 * 60;
	put_file("/p/old.so", now - (CACHE_DAYS + 1) * day);
	put_file("/p/new.so", now - (CACHE_DAYS - 1) * day);
	ck_assert_int_eq(again(), 0);
	ck_assert_ptr_null(cache_find(&cache, "/p/old.so"));
	ck_assert_ptr_nonnull(cache_find(&cache, "/p/new.so"));
}
END_TEST

START_TEST(text_that_is_no_cache_is_set_aside)
{
	expect_damage("hello\n");
}
END_TEST

START_TEST(empty_file_is_set_aside)
{
	expect_damage("");
}
END_TEST

START_TEST(other_format_is_set_aside)
{
	expect_damage("{\"format\":\"kplug-probe/3\"}\n");
}
END_TEST

START_TEST(half_a_line_is_set_aside)
{
	expect_damage("{\"format\":\"kplug-probe/2\"}\n{\"file\":\"/p/x.so\",\"at\":1");
}
END_TEST

START_TEST(good_lines_before_a_bad_one_are_not_believed)
{
	expect_damage("{\"format\":\"kplug-probe/2\"}\n"
		      "{\"file\":\"/p/x.so\",\"at\":1000000000}\n"
		      "{\"file\":}\n");
	ck_assert_ptr_nonnull(strstr(diag.message, ":3:"));
}
END_TEST

START_TEST(line_without_a_name_is_set_aside)
{
	expect_damage("{\"format\":\"kplug-probe/2\"}\n{\"at\":1}\n");
}
END_TEST

START_TEST(entry_of_the_wrong_shape_is_not_used)
{
	struct cache_file file;
	write_whole("{\"format\":\"kplug-probe/2\"}\n"
		    "{\"file\":\"/p/x.so\",\"at\":1000000000,\"digest\":7}\n");
	ck_assert_int_eq(cache_read(&cache, dir, now, &diag), 0);
	ck_assert_int_eq(cache_decode(cache_find(&cache, "/p/x.so"), &file), -1);
}
END_TEST

START_TEST(snapshot_does_not_change_with_the_cache)
{
	struct cache snapshot;
	put_file("/p/x.so", now);
	ck_assert_int_eq(cache_snapshot(&cache, &snapshot), 0);
	cache_forget(&cache, "/p/x.so");
	ck_assert_ptr_nonnull(cache_find(&snapshot, "/p/x.so"));
	cache_finish(&snapshot);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("cache");
	TCase *t = tcase_create("cache");
	tcase_add_checked_fixture(t, make, unmake);
	tcase_add_test(t, file_comes_back_as_it_was_put);
	tcase_add_test(t, of_verdicts_that_no_file_has_the_oldest_go);
	tcase_add_test(t, verdict_comes_back_as_it_was_put);
	tcase_add_test(t, failure_holds_for_its_timeout_only);
	tcase_add_test(t, nothing_known_is_nothing_found);
	tcase_add_test(t, missing_directory_is_an_empty_cache);
	tcase_add_test(t, forgotten_file_is_unknown);
	tcase_add_test(t, old_entries_are_dropped);
	tcase_add_test(t, text_that_is_no_cache_is_set_aside);
	tcase_add_test(t, empty_file_is_set_aside);
	tcase_add_test(t, other_format_is_set_aside);
	tcase_add_test(t, half_a_line_is_set_aside);
	tcase_add_test(t, good_lines_before_a_bad_one_are_not_believed);
	tcase_add_test(t, line_without_a_name_is_set_aside);
	tcase_add_test(t, entry_of_the_wrong_shape_is_not_used);
	tcase_add_test(t, snapshot_does_not_change_with_the_cache);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return suite_run(suite());
}
