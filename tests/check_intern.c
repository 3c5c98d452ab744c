/* SPDX-License-Identifier: MIT */
/* Pieces of a table are kept once; one that does not fit is told from want of memory. */
#include "lib/base/intern.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/table/table_build.h"
#include "tests/support/suite.h"

START_TEST(equal_pieces_are_kept_once)
{
	struct kp_intern intern = {.size = 0};
	uint32_t first, again, other;

	ck_assert(kp_intern_add(&intern, "abcd", 4, &first));
	ck_assert(kp_intern_add(&intern, "abce", 4, &other));
	ck_assert(kp_intern_add(&intern, "abcd", 4, &again));
	ck_assert_uint_eq(first, again);
	ck_assert_uint_ne(first, other);
	ck_assert_uint_eq(intern.size, 8);
	ck_assert(!intern.is_full);
	kp_intern_finish(&intern);
}
END_TEST

static const size_t too_much[] = {
	(size_t)KP_INTERN_MOST + 1, SIZE_MAX, SIZE_MAX - KP_INTERN_MOST};

START_TEST(what_has_no_room_leaves_all_as_it_was)
{
	struct kp_intern intern = {.size = 0};
	uint32_t offset;

	ck_assert(kp_intern_append(&intern, "abcd", 4, &offset));
	ck_assert(!kp_intern_append(&intern, "abcd", too_much[_i], &offset));
	ck_assert(intern.is_full);
	ck_assert_uint_eq(intern.size, 4);
	ck_assert_mem_eq(intern.bytes, "abcd", 4);
	kp_intern_finish(&intern);
}
END_TEST

static const enum kp_section sections[] = {
	KP_SECTION_STRINGS, KP_SECTION_PINS, KP_SECTION_SYMBOLS};

/* As if so much had been added: it would take a gigabyte to do so. */
START_TEST(a_section_that_is_full_is_no_want_of_memory)
{
	char operation[] = "gemm/mm", choice[] = "fast";
	struct kp_build build = {.failed = false};
	struct kp_diag diag;
	size_t size;
	void *bytes;

	build.sections[sections[_i]].size = KP_INTERN_MOST;
	(void)kp_build_symbol(&build, "text");
	kp_build_pin(&build, &(struct kp_pin){.operation = operation, .choice = choice});
	ck_assert_int_eq(kp_build_finish(&build, 1, &bytes, &size, &diag), -1);
	ck_assert_str_eq(diag.code, "table_too_large");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("intern");
	TCase *tcase = tcase_create("intern");

	tcase_add_test(tcase, equal_pieces_are_kept_once);
	tcase_add_loop_test(tcase, what_has_no_room_leaves_all_as_it_was, 0, 3);
	tcase_add_loop_test(tcase, a_section_that_is_full_is_no_want_of_memory, 0, 3);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
