/* SPDX-License-Identifier: MIT */
/* Messages: filled, placed, renamed, collected; always whole and printable. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/diag.h"
#include "lib/base/text.h"
#include "tests/support/suite.h"

START_TEST(set_fills_all_and_clears_the_place)
{
	struct kp_diag diag = {.line = 7, .column = 8, .file = "old"};
	ck_assert_int_eq(
		kp_diag_set(&diag, "some_code", "thing", "%d of %s", 3, "4"), -1);
	ck_assert_str_eq(diag.code, "some_code");
	ck_assert_str_eq(diag.object, "thing");
	ck_assert_str_eq(diag.message, "3 of 4");
	ck_assert_str_eq(diag.file, "");
	ck_assert_uint_eq(diag.line, 0);
	ck_assert_uint_eq(diag.column, 0);
}
END_TEST

START_TEST(nobody_listening_is_no_fault)
{
	ck_assert_int_eq(kp_diag_set(NULL, "x", "y", "%s", "z"), -1);
	ck_assert_int_eq(kp_diag_at(NULL, "f", 1, 2), -1);
	ck_assert_int_eq(kp_diag_rename(NULL, "x"), -1);
	ck_assert_int_eq(kp_diag_no_memory(NULL), -1);
	struct kp_diag diag;
	kp_diag_set(&diag, "x", NULL, "y");
	kp_diags_add(NULL, &diag);
}
END_TEST

START_TEST(t44_hostile_texts_are_cut_and_escaped)
{
	char huge[4096];
	struct kp_diag diag;
	memset(huge, 'a', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	kp_diag_set(&diag, "x", huge, "%s", huge);
	ck_assert_uint_eq(strlen(diag.object), sizeof(diag.object) - 1);
	ck_assert_uint_eq(strlen(diag.message), sizeof(diag.message) - 1);
	kp_diag_at(&diag, huge, 1, 1);
	ck_assert_uint_eq(strlen(diag.file), sizeof(diag.file) - 1);
	kp_diag_set(&diag, "x", "\xff\x1b", "%s", "\x01\xc3");
	ck_assert_str_eq(diag.object, "\\xff\\x1b");
	ck_assert_str_eq(diag.message, "\\x01\\xc3");
	kp_diag_at(&diag, "a\nb\x02", 1, 1);
	ck_assert_str_eq(diag.file, "a\nb\\x02");
}
END_TEST

START_TEST(t44_text_cut_inside_a_character_stays_utf8)
{
	char wide[2048] = "";
	struct kp_diag diag;
	for (int i = 0; i < 600; i++)
		strcat(wide, "\xe2\x82\xac");
	kp_diag_set(&diag, "x", wide, "z%s", wide);
	ck_assert(kp_text_is_utf8(diag.object, strlen(diag.object)));
	ck_assert(kp_text_is_utf8(diag.message, strlen(diag.message)));
}
END_TEST

START_TEST(own_members_may_be_arguments)
{
	struct kp_diag diag;
	kp_diag_set(&diag, "x", "inner", "inner said");
	kp_diag_set(&diag, "x", diag.object, "outer: %s", diag.message);
	ck_assert_str_eq(diag.object, "inner");
	ck_assert_str_eq(diag.message, "outer: inner said");
}
END_TEST

START_TEST(rename_keeps_code_and_place)
{
	struct kp_diag diag;
	kp_diag_set(&diag, "bad_arch", "x9", "x9 is not an arch");
	kp_diag_at(&diag, "note", 3, 4);
	ck_assert_int_eq(kp_diag_rename(&diag, "kernels[0].min_arch"), -1);
	ck_assert_str_eq(diag.code, "bad_arch");
	ck_assert_str_eq(diag.object, "kernels[0].min_arch");
	ck_assert_str_eq(diag.message, "kernels[0].min_arch: x9 is not an arch");
	ck_assert_str_eq(diag.file, "note");
	ck_assert_uint_eq(diag.line, 3);
	ck_assert_uint_eq(diag.column, 4);
}
END_TEST

START_TEST(text_has_as_much_of_the_place_as_is_known)
{
	struct kp_diag diag;
	char out[64];
	kp_diag_set(&diag, "x", NULL, "wrong");
	ck_assert_str_eq(kp_diag_text(&diag, out, sizeof(out)), "wrong");
	kp_diag_at(&diag, "a.json", 0, 0);
	ck_assert_str_eq(kp_diag_text(&diag, out, sizeof(out)), "a.json: wrong");
	kp_diag_at(&diag, "a.json", 12, 5);
	ck_assert_str_eq(kp_diag_text(&diag, out, sizeof(out)), "a.json:12:5: wrong");
}
END_TEST

START_TEST(list_owns_copies_and_is_bounded)
{
	struct kp_diags list = {0};
	struct kp_diag diag;
	for (unsigned i = 0; i < KP_DIAGS_MOST + 10; i++) {
		kp_diag_set(&diag, "x", NULL, "%u", i);
		kp_diags_add(&list, &diag);
	}
	ck_assert_uint_eq(list.count, KP_DIAGS_MOST);
	ck_assert_str_eq(list.items[0].message, "0");
	ck_assert_str_eq(list.items[KP_DIAGS_MOST - 1].message, "255");
	kp_diags_finish(&list);
	ck_assert_uint_eq(list.count, 0);
	kp_diags_finish(&list);
}
END_TEST

START_TEST(an_offer_is_made_once_and_whole)
{
	static const char *const names[] = {"reference", "triton"};
	struct kp_diag diag, before;

	kp_diag_set(&diag, "x", "refrence", "no refrence");
	ck_assert_int_eq(kp_diag_offer(&diag, "refrence", names, 2), -1);
	ck_assert_str_eq(diag.message, "no refrence; did you mean reference?");
	kp_diag_offer(&diag, "tritom", names, 2);
	ck_assert_str_eq(diag.message, "no refrence; did you mean reference?");
	kp_diag_set(&diag, "x", "q", "no q");
	kp_diag_offer(&diag, "q", names, 2);
	ck_assert_str_eq(diag.message, "no q");
	kp_diag_set(&diag, "x", "q", "%0760d", 0);
	before = diag;
	kp_diag_offer(&diag, "tritom", names, 2);
	ck_assert_str_eq(diag.message, before.message);
	ck_assert_int_eq(kp_diag_offer(NULL, "tritom", names, 2), -1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("diag");
	tcase_add_test(tcase, an_offer_is_made_once_and_whole);
	tcase_add_test(tcase, set_fills_all_and_clears_the_place);
	tcase_add_test(tcase, nobody_listening_is_no_fault);
	tcase_add_test(tcase, t44_hostile_texts_are_cut_and_escaped);
	tcase_add_test(tcase, t44_text_cut_inside_a_character_stays_utf8);
	tcase_add_test(tcase, own_members_may_be_arguments);
	tcase_add_test(tcase, rename_keeps_code_and_place);
	tcase_add_test(tcase, text_has_as_much_of_the_place_as_is_known);
	tcase_add_test(tcase, list_owns_copies_and_is_bounded);
	Suite *suite = suite_create("diag");
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
