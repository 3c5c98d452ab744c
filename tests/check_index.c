/* SPDX-License-Identifier: MIT */
/* An index says what was put into it, or that it is none: never anything else. */
#include "daemon/scan/index.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/suite.h"

static struct kp_diag diag;
static struct index_text text;

static struct trace *make_trace(const char *path, const char *absent)
{
	struct stamp stamp = {true, 1, 2, 3, 4, 5}, none = {.exists = false};
	struct trace *trace = trace_new();

	ck_assert_int_eq(trace_add(trace, path, &stamp), 0);
	if (absent)
		ck_assert_int_eq(trace_add(trace, absent, &none), 0);
	return trace;
}

static void add(const char *name, json_t *config)
{
	struct index_item item = {
		.manifest = {.name = (char *)(uintptr_t)name,
			.path = (char *)(uintptr_t) "/layer/x.json",
			.layer = 2,
			.library = (char *)(uintptr_t) "x.so",
			.config = config,
			.sha256 = "abc",
			.timeout_ms = 7,
			.priority_offset = -3,
			.enabled = true,
			.digest = "0123456789abcdef"},
		.stamp = {true, 9, 8, 7, 6, -5},
		.digest = "d0",
		.closure = "c0",
		.told = "{}",
		.bytes = 11,
		.trace = make_trace("/plugins/x.so", "/lib/not-there"),
		.kept = make_trace("c0/x.so", NULL),
	};

	index_add(&text, &item);
	trace_unref(item.trace);
	trace_unref(item.kept);
	json_decref(config);
}

static void *end(size_t *size)
{
	void *bytes = index_end(&text, size);
	ck_assert_ptr_nonnull(bytes);
	return bytes;
}

static void *two(size_t *size)
{
	index_begin(&text, "key", "decided", 12);
	add("a", NULL);
	add("b", json_pack("{s:i}", "depth", 3));
	return end(size);
}

/* Takes the bytes. */
static void expect_none(void *bytes, size_t size)
{
	diag = (struct kp_diag){.code = NULL};
	ck_assert_ptr_null(index_read(bytes, size, &diag));
	ck_assert_str_eq(diag.code, "bad_index");
}

static void *copy(const void *bytes, size_t size)
{
	void *other = malloc(size + 1);
	ck_assert_ptr_nonnull(other);
	memcpy(other, bytes, size);
	return other;
}

START_TEST(what_was_put_in_comes_back)
{
	size_t size;
	void *bytes = two(&size);
	struct index *index = index_read(bytes, size, &diag);

	ck_assert_ptr_nonnull(index);
	ck_assert_str_eq(index->key, "key");
	ck_assert_str_eq(index->decisions, "decided");
	ck_assert_uint_eq(index->generation, 12);
	ck_assert_uint_eq(index->count, 2);
	const struct index_item *item = index_find(index, "b");
	ck_assert_ptr_nonnull(item);
	ck_assert_str_eq(item->manifest.path, "/layer/x.json");
	ck_assert_str_eq(item->manifest.library, "x.so");
	ck_assert_str_eq(item->manifest.sha256, "abc");
	ck_assert_str_eq(item->manifest.digest, "0123456789abcdef");
	ck_assert_uint_eq(item->manifest.layer, 2);
	ck_assert_uint_eq(item->manifest.timeout_ms, 7);
	ck_assert_int_eq(item->manifest.priority_offset, -3);
	ck_assert(item->manifest.enabled && !item->manifest.masked);
	ck_assert_int_eq(
		json_integer_value(json_object_get(item->manifest.config, "depth")), 3);
	ck_assert_int_eq(item->stamp.ctime, -5);
	ck_assert_str_eq(item->digest, "d0");
	ck_assert_str_eq(item->closure, "c0");
	ck_assert_str_eq(item->told, "{}");
	ck_assert_int_eq(item->bytes, 11);
	ck_assert_uint_eq(item->trace->count, 2);
	ck_assert(item->trace->items[0].stamp.exists);
	ck_assert(!item->trace->items[1].stamp.exists);
	ck_assert_str_eq(item->kept->items[0].path, "c0/x.so");
	ck_assert(!item->is_known && !item->holds);
	index_free(index);
}
END_TEST

START_TEST(nothing_that_was_not_put_in_is_found)
{
	size_t size;
	void *bytes = two(&size);
	struct index *index = index_read(bytes, size, &diag);

	ck_assert_ptr_null(index_find(index, "c"));
	ck_assert_ptr_null(index_find(index, ""));
	ck_assert_ptr_null(index_find(NULL, "a"));
	index_free(index);
}
END_TEST

START_TEST(an_index_may_be_empty)
{
	size_t size;

	index_begin(&text, "", "", 0);
	void *bytes = end(&size);
	struct index *index = index_read(bytes, size, &diag);
	ck_assert_ptr_nonnull(index);
	ck_assert_uint_eq(index->count, 0);
	index_free(index);
}
END_TEST

START_TEST(t57_one_that_was_cut_anywhere_is_none)
{
	size_t size;
	void *bytes = two(&size);

	for (size_t at = 0; at < size; at++)
		expect_none(copy(bytes, at), at);
	free(bytes);
}
END_TEST

START_TEST(t57_one_of_which_any_byte_changed_is_none)
{
	size_t size;
	void *bytes = two(&size);

	for (size_t at = 0; at < size; at++) {
		unsigned char *other = copy(bytes, size);
		other[at] ^= 0x41;
		expect_none(other, size);
	}
	free(bytes);
}
END_TEST

START_TEST(t57_one_that_is_zero_from_anywhere_on_is_none)
{
	size_t size;
	void *bytes = two(&size);

	/* The last item's end is zero by itself. */
	for (size_t at = 0; at + sizeof(uint64_t) < size; at++) {
		unsigned char *other = copy(bytes, size);
		memset(other + at, 0, size - at);
		if (memcmp(other, bytes, size) == 0)
			free(other);
		else
			expect_none(other, size);
	}
	free(bytes);
}
END_TEST

START_TEST(t57_one_with_more_behind_it_is_none)
{
	size_t size;
	void *bytes = two(&size);

	expect_none(copy(bytes, size + 1), size + 1);
	free(bytes);
}
END_TEST

START_TEST(items_that_are_in_no_order_are_none)
{
	size_t size;

	index_begin(&text, "key", "decided", 12);
	add("b", NULL);
	add("a", NULL);
	void *bytes = end(&size);
	expect_none(bytes, size);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("index");
	TCase *t = tcase_create("index");
	tcase_add_test(t, what_was_put_in_comes_back);
	tcase_add_test(t, nothing_that_was_not_put_in_is_found);
	tcase_add_test(t, an_index_may_be_empty);
	tcase_add_test(t, t57_one_that_was_cut_anywhere_is_none);
	tcase_add_test(t, t57_one_of_which_any_byte_changed_is_none);
	tcase_add_test(t, t57_one_that_is_zero_from_anywhere_on_is_none);
	tcase_add_test(t, t57_one_with_more_behind_it_is_none);
	tcase_add_test(t, items_that_are_in_no_order_are_none);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return suite_run(suite());
}
