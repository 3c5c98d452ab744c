/* SPDX-License-Identifier: MIT */
/* Guards in decisions, their text and tables, and tables that are older than they. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/registry/decisions.h"
#include "lib/table/table_build.h"
#include "lib/table/table_read.h"
#include "tests/support/suite.h"

static void guard(struct kp_decisions *d, const char *operation, uint32_t every)
{
	bool changed;

	ck_assert_int_eq(kp_decisions_guard(d, operation, every, 42, 7, &changed), 0);
}

static void *build(const struct kp_decisions *d, size_t *size)
{
	struct kp_build building = {.failed = false};
	struct kp_diag diag;
	void *bytes;

	for (size_t i = 0; i < d->n_guards; i++)
		kp_build_guard(&building, d->guards[i].operation, d->guards[i].every);
	ck_assert_int_eq(kp_build_finish(&building, 3, &bytes, size, &diag), 0);
	return bytes;
}

START_TEST(a_guard_comes_goes_and_says_whether_it_changed)
{
	static const struct {
		uint32_t every;
		bool changes;
	} steps[] = {{0, false}, {10, true}, {10, false}, {1, true}, {UINT32_MAX, true},
		{0, true}, {0, false}};
	struct kp_decisions d = {0};
	bool changed;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		ck_assert_int_eq(
			kp_decisions_guard(&d, "gemm/mm", steps[i].every, 1, 0, &changed),
			0);
		ck_assert_int_eq(changed, steps[i].changes);
		const struct kp_guarding *found = kp_decisions_find_guard(&d, "gemm/mm");
		ck_assert_uint_eq(found ? found->every : 0, steps[i].every);
	}
	kp_decisions_finish(&d);
}
END_TEST

START_TEST(guards_survive_their_text_and_a_copy)
{
	struct kp_decisions d = {0}, back, copy;
	struct kp_diag diag;

	guard(&d, "norm/rms", 1);
	guard(&d, "gemm/mm", 1000);
	char *text = kp_decisions_print(&d);
	ck_assert_int_eq(kp_decisions_parse(text, strlen(text), "x", &back, &diag), 0);
	ck_assert_int_eq(kp_decisions_copy(&back, &copy), 0);
	ck_assert_uint_eq(copy.n_guards, 2);
	ck_assert_str_eq(copy.guards[0].operation, "gemm/mm");
	ck_assert_uint_eq(copy.guards[0].every, 1000);
	ck_assert_int_eq(copy.guards[0].at, 42);
	ck_assert_uint_eq(copy.guards[0].uid, 7);
	ck_assert_uint_eq(copy.guards[1].every, 1);
	free(text);
	kp_decisions_finish(&d);
	kp_decisions_finish(&back);
	kp_decisions_finish(&copy);
}
END_TEST

START_TEST(a_text_without_guards_is_as_it_was_before_them)
{
	struct kp_decisions d = {0};
	char *text = kp_decisions_print(&d);

	ck_assert_ptr_null(strstr(text, "guards"));
	free(text);
}
END_TEST

#define TEXT(guards)                                                                     \
	"{\"format\":\"kplug-decisions/1\",\"disabled\":[],\"pins\":[],\"enabled\":[],"  \
	"\"guards\":[" guards "]}"
#define ENTRY(every) "{\"operation\":\"a/b\",\"every\":" every ",\"at\":1,\"uid\":0}"

START_TEST(an_entry_that_is_wrong_is_refused_alone)
{
	static const char *const texts[] = {TEXT(ENTRY("0")), TEXT(ENTRY("-1")),
		TEXT(ENTRY("4294967296")), TEXT(ENTRY("\"x\"")),
		TEXT("{\"operation\":\"a/b\",\"at\":1,\"uid\":0}"),
		TEXT(ENTRY("5") "," ENTRY("6"))};
	struct kp_decisions d;
	struct kp_diag diag;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct kp_diags wrong = {0};
		ck_assert_int_eq(kp_decisions_read(texts[i], strlen(texts[i]), "x", &d,
					 &wrong, &diag),
			0);
		ck_assert_uint_eq(wrong.count, 1);
		ck_assert_str_eq(wrong.items[0].code, "bad_decisions");
		kp_diags_finish(&wrong);
		kp_decisions_finish(&d);
	}
}
END_TEST

START_TEST(a_table_says_how_often)
{
	struct kp_decisions d = {0};
	struct kp_table table;
	struct kp_diag diag;
	size_t size;

	guard(&d, "gemm/mm", 1000);
	guard(&d, "norm/rms", UINT32_MAX);
	void *bytes = build(&d, &size);
	ck_assert_int_eq(kp_table_open(bytes, size, &table, &diag), 0);
	ck_assert_uint_eq(kp_table_guard(&table, "gemm/mm"), 1000);
	ck_assert_uint_eq(kp_table_guard(&table, "norm/rms"), UINT32_MAX);
	ck_assert_uint_eq(kp_table_guard(&table, "gemm"), 0);
	ck_assert_uint_eq(kp_table_guard(&table, ""), 0);
	free(bytes);
	kp_decisions_finish(&d);
}
END_TEST

/* As a plugind before guards wrote it: a section less. */
START_TEST(a_table_of_minor_0_is_read_and_guards_nothing)
{
	struct kp_decisions d = {0};
	struct kp_table table;
	struct kp_diag diag;
	size_t size;

	guard(&d, "gemm/mm", 1000);
	unsigned char *bytes = build(&d, &size);
	kp_store32(bytes + KP_HEADER_MAJOR, KP_TABLE_MAJOR);
	kp_store32(bytes + KP_HEADER_SECTIONS, KP_SECTIONS_LEAST);
	kp_store64(bytes + KP_HEADER_CHECKSUM, kp_table_checksum(bytes, size));
	ck_assert_msg(kp_table_open(bytes, size, &table, &diag) == 0, "%s", diag.message);
	ck_assert_uint_eq(kp_table_guard(&table, "gemm/mm"), 0);
	/* More sections than there is room for, and fewer than there must be. */
	static const uint32_t wrong[] = {UINT32_MAX, KP_SECTIONS_LEAST - 1, 0};
	for (size_t i = 0; i < 3; i++) {
		kp_store32(bytes + KP_HEADER_SECTIONS, wrong[i]);
		kp_store64(bytes + KP_HEADER_CHECKSUM, kp_table_checksum(bytes, size));
		ck_assert_int_eq(kp_table_open(bytes, size, &table, &diag), -1);
		ck_assert_str_eq(diag.code, "bad_table");
	}
	free(bytes);
	kp_decisions_finish(&d);
}
END_TEST

START_TEST(guards_that_are_not_in_order_are_damage)
{
	struct kp_build building = {.failed = false};
	struct kp_table table;
	struct kp_diag diag;
	void *bytes;
	size_t size;

	kp_build_guard(&building, "norm/rms", 5);
	kp_build_guard(&building, "gemm/mm", 5);
	ck_assert_int_eq(kp_build_finish(&building, 3, &bytes, &size, &diag), 0);
	ck_assert_int_eq(kp_table_open(bytes, size, &table, &diag), -1);
	free(bytes);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("table_guard");
	TCase *tcase = tcase_create("guards");

	tcase_add_test(tcase, a_guard_comes_goes_and_says_whether_it_changed);
	tcase_add_test(tcase, guards_survive_their_text_and_a_copy);
	tcase_add_test(tcase, a_text_without_guards_is_as_it_was_before_them);
	tcase_add_test(tcase, an_entry_that_is_wrong_is_refused_alone);
	tcase_add_test(tcase, a_table_says_how_often);
	tcase_add_test(tcase, a_table_of_minor_0_is_read_and_guards_nothing);
	tcase_add_test(tcase, guards_that_are_not_in_order_are_damage);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
