/* SPDX-License-Identifier: MIT */
/* Strings that people read: made safe, checked, offered. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "tests/support/suite.h"

static const struct {
	const char *raw, *clean;
} texts[] = {
	{"", ""},
	{"plain", "plain"},
	{"two\nlines\tand a tab", "two\nlines\tand a tab"},
	{"\x01\x1b[31m", "\\x01\\x1b[31m"},
	{"\r\x7f", "\\x0d\\x7f"},
	{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
	{"\xc2\x80\xc2\x9f\xc2\xa0", "\\xc2\\x80\\xc2\\x9f\xc2\xa0"},
	{"\xff\xfe", "\\xff\\xfe"},
	{"a\xc3", "a\\xc3"},
	{"\xc0\xaf", "\\xc0\\xaf"},
	{"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
	{"\xed\xa0\x80", "\\xed\\xa0\\x80"},
	{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
	{"\x80z", "\\x80z"},
	/* To the left, isolated, and back; marks of either direction. */
	{"a\xe2\x80\xae"
	 "b\xe2\x81\xa6"
	 "c\xe2\x81\xa9",
		"a\\u202eb\\u2066c\\u2069"},
	{"\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", "\\u200e\\u200f\\u061c"},
	/* Lines that end without a control. */
	{"a\xe2\x80\xa8"
	 "b\xe2\x80\xa9"
	 "c",
		"a\\u2028b\\u2029c"},
	/* What nobody sees: of no width, fillers, tags. */
	{"a\xe2\x80\x8b\xef\xbb\xbf\xc2\xad", "a\\u200b\\ufeff\\u00ad"},
	{"\xe1\x85\x9f\xe3\x85\xa4\xef\xbe\xa0", "\\u115f\\u3164\\uffa0"},
	{"\xf3\xa0\x81\x81z", "\\U000e0041z"},
	/* Letters that belong together, emoji, and what stands for a bad byte, stay. */
	{"\xd9\x85\xe2\x80\x8c\xd9\x87", "\xd9\x85\xe2\x80\x8c\xd9\x87"},
	{"\xe2\x9d\xa4\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x94\xa5",
		"\xe2\x9d\xa4\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x94\xa5"},
	{"\xef\xbf\xbd", "\xef\xbf\xbd"},
	/* Four marks on a letter, and no more. */
	{"e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x82",
		"e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\\u0302"},
};
enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };

START_TEST(clean_text_is_utf8_without_controls)
{
	char out[128];
	size_t n = kp_text_clean(texts[_i].raw, out, sizeof(out));
	ck_assert_str_eq(out, texts[_i].clean);
	ck_assert_uint_eq(n, strlen(out));
	ck_assert(kp_text_is_utf8(out, n));
}
END_TEST

START_TEST(cleaning_twice_changes_nothing)
{
	char once[128], twice[128];
	kp_text_clean(texts[_i].raw, once, sizeof(once));
	kp_text_clean(once, twice, sizeof(twice));
	ck_assert_str_eq(once, twice);
}
END_TEST

START_TEST(cut_text_ends_at_a_whole_character)
{
	static const char raw[] = "a\xe2\x82\xac\x01z";
	for (size_t size = 1; size < 16; size++) {
		char out[16];
		memset(out, '#', sizeof(out));
		size_t n = kp_text_clean(raw, out, size);
		ck_assert_uint_lt(n, size);
		ck_assert_uint_eq(strlen(out), n);
		ck_assert(kp_text_is_utf8(out, n));
		ck_assert_msg(n == 0 || n == 1 || n == 4 || n == 8 || n == 9, "%zu", n);
	}
}
END_TEST

START_TEST(no_room_writes_nothing)
{
	char out = '#';
	ck_assert_uint_eq(kp_text_clean("abc", &out, 0), 0);
	ck_assert_int_eq(out, '#');
}
END_TEST

START_TEST(bytes_with_a_nul_are_cleaned_to_their_end)
{
	char out[32];
	kp_text_clean_bytes("a\0b", 3, out, sizeof(out));
	ck_assert_str_eq(out, "a\\x00b");
}
END_TEST

START_TEST(valid_length_stops_at_the_first_bad_byte)
{
	ck_assert_uint_eq(kp_text_utf8_length("abc", 3), 3);
	ck_assert_uint_eq(kp_text_utf8_length("ab\xff", 3), 2);
	ck_assert_uint_eq(kp_text_utf8_length("\xe2\x82\xac", 2), 0);
	ck_assert_uint_eq(kp_text_utf8_length("", 0), 0);
	ck_assert(!kp_text_is_utf8("ab\xff", 3));
	ck_assert(kp_text_is_utf8("ab\xff", 2));
}
END_TEST

static const char *const names[] = {"a", "9", "A.b_c+d-e",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
static const char *const no_names[] = {"", "-a", ".a", "_a", "+a", "a b", "a/b", "a\n",
	"\xc3\xa4", "a,b", "a=b",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
enum {
	NAMES = sizeof(names) / sizeof(names[0]),
	NO_NAMES = sizeof(no_names) / sizeof(no_names[0]),
};

START_TEST(names_follow_the_rule)
{
	for (size_t i = 0; i < NAMES; i++)
		ck_assert_msg(kp_text_is_name(names[i]), "%s", names[i]);
	for (size_t i = 0; i < NO_NAMES; i++)
		ck_assert_msg(!kp_text_is_name(no_names[i]), "%s", no_names[i]);
}
END_TEST

START_TEST(pieces_add_up_and_are_cut_where_it_is_full)
{
	char out[8];
	size_t used = kp_text_add(out, sizeof(out), 0, "%s", "ab");
	ck_assert_uint_eq(used, 2);
	used = kp_text_add(out, sizeof(out), used, "-%d", 7);
	ck_assert_str_eq(out, "ab-7");
	used = kp_text_add(out, sizeof(out), used, "%s", "overflowing");
	ck_assert_uint_eq(used, 7);
	ck_assert_str_eq(out, "ab-7ove");
	used = kp_text_add(out, sizeof(out), used, "%s", "more");
	ck_assert_uint_eq(used, 7);
	ck_assert_str_eq(out, "ab-7ove");
}
END_TEST

static const char *const offered[] = {"alpha", "beta", "reference", "triton", "m", "n"};
static const struct {
	const char *wanted, *nearest;
} wishes[] = {
	{"alhpa", "alpha"},
	{"alpha", "alpha"},
	{"bet", "beta"},
	{"reffrence", "reference"},
	{"Triton", "triton"},
	{"REFERENCE", "reference"},
	{"M", "m"},
	{"zzz", NULL},
	{"better", NULL},
	{"trip", NULL},
	{"x", NULL},
	{"", NULL},
	{"quaternion", NULL},
	{"referencereferencereferencereferencereferencereferencereferencereferencereferen"
	 "ce",
		NULL},
};
enum { WISHES = sizeof(wishes) / sizeof(wishes[0]) };

START_TEST(nearest_name_is_one_that_somebody_may_have_meant)
{
	const char *nearest = kp_text_nearest(
		wishes[_i].wanted, offered, sizeof(offered) / sizeof(offered[0]));
	if (wishes[_i].nearest)
		ck_assert_str_eq(nearest, wishes[_i].nearest);
	else
		ck_assert_ptr_null(nearest);
}
END_TEST

static const struct {
	const char *wanted, *list, *offer;
	size_t count;
} offers[] = {
	{"alhpa", "it has", "; did you mean alpha?", 6},
	{"zzz", "it has", "; it has alpha, beta, reference, triton, m, n", 6},
	{"zzz", "it is one of", "; it is one of alpha", 1},
	{"zzz", NULL, "", 6},
	{"zzz", "it has", "", 0},
};

START_TEST(an_offer_is_the_nearest_or_all_there_are)
{
	char text[KP_TEXT_OFFER];
	ck_assert_str_eq(kp_text_offer(offers[_i].wanted, offered, offers[_i].count,
				 offers[_i].list, text),
		offers[_i].offer);
}
END_TEST

START_TEST(an_offer_of_too_many_ends_at_a_whole_name)
{
	char text[KP_TEXT_OFFER];
	const char *many[64];
	for (size_t i = 0; i < 64; i++)
		many[i] = i % 2 ? "reference" : "triton";
	kp_text_offer("zzz", many, 64, "it has", text);
	size_t length = strlen(text);
	ck_assert_uint_lt(length, KP_TEXT_OFFER);
	ck_assert_uint_gt(length, KP_TEXT_OFFER - 32);
	ck_assert_str_eq(text + length - 5, ", ...");
	ck_assert(text[length - 6] == 'e' || text[length - 6] == 'n');
}
END_TEST

START_TEST(nothing_is_nearest_among_none)
{
	ck_assert_ptr_null(kp_text_nearest("alpha", offered, 0));
}
END_TEST

static const struct {
	const char *sentence, *name;
} sentences[] = {
	{"there is no plugin x68; did you mean x86?", "x86"},
	{"there is no plugin x; did you mean evil?; did you mean x86?", "x86"},
	{"there is no kernel b/agian; did you mean b/again?", "b/again"},
	{"there is no plugin x68; did you mean x86? enable it", NULL},
	{"there is no plugin x68; did you mean ?", NULL},
	{"there is no plugin x68; did you mean ", NULL},
	{"there is no plugin x68; did you mean a_name_without_room?", NULL},
	{"there is no plugin x68", NULL},
	{"", NULL},
};

START_TEST(what_a_sentence_offers_is_found_at_its_end)
{
	char name[16];

	ck_assert_pstr_eq(kp_text_offered(sentences[_i].sentence, name, sizeof(name)),
		sentences[_i].name);
}
END_TEST

START_TEST(what_is_offered_is_what_was_nearest)
{
	char text[KP_TEXT_OFFER], name[16];

	kp_text_offer("refrence", offered, 4, NULL, text);
	ck_assert_pstr_eq(kp_text_offered(text, name, sizeof(name)), "reference");
}
END_TEST

static const struct {
	const char *path, *end, *stem;
} files[] = {
	{"x86.so", ".so", "x86"},
	{"/usr/lib/x86.so", ".so", "x86"},
	{"/usr/lib.so/x86", ".so", "x86"},
	{"x86.so", ".json", "x86.so"},
	{"a/.so", ".so", ".so"},
	{"a.so.so", ".so", "a.so"},
	{"a.sox", ".so", "a.sox"},
	{"a/", ".so", ""},
};

START_TEST(stem_is_the_name_without_directory_and_end)
{
	size_t length;
	const char *name = kp_text_stem(files[_i].path, files[_i].end, &length);

	ck_assert_uint_eq(length, strlen(files[_i].stem));
	ck_assert_int_eq(strncmp(name, files[_i].stem, length), 0);
	ck_assert_int_eq(kp_text_ends_with(name, files[_i].end), name[length] != '\0');
}
END_TEST

START_TEST(below_a_name_is_the_name_itself_and_what_follows_a_slash)
{
	ck_assert(kp_text_is_below("a", "a"));
	ck_assert(kp_text_is_below("a/kernel", "a"));
	ck_assert(kp_text_is_below("a/kernel", "a/kernel"));
	ck_assert(!kp_text_is_below("ab/kernel", "a"));
	ck_assert(!kp_text_is_below("a", "a/kernel"));
	ck_assert(!kp_text_is_below("", "a"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("text");
	tcase_add_loop_test(tcase, clean_text_is_utf8_without_controls, 0, TEXTS);
	tcase_add_loop_test(tcase, cleaning_twice_changes_nothing, 0, TEXTS);
	tcase_add_test(tcase, cut_text_ends_at_a_whole_character);
	tcase_add_test(tcase, no_room_writes_nothing);
	tcase_add_test(tcase, bytes_with_a_nul_are_cleaned_to_their_end);
	tcase_add_test(tcase, valid_length_stops_at_the_first_bad_byte);
	tcase_add_test(tcase, names_follow_the_rule);
	tcase_add_test(tcase, pieces_add_up_and_are_cut_where_it_is_full);
	tcase_add_loop_test(
		tcase, nearest_name_is_one_that_somebody_may_have_meant, 0, WISHES);
	tcase_add_test(tcase, nothing_is_nearest_among_none);
	tcase_add_loop_test(tcase, what_a_sentence_offers_is_found_at_its_end, 0,
		sizeof(sentences) / sizeof(sentences[0]));
	tcase_add_test(tcase, what_is_offered_is_what_was_nearest);
	tcase_add_loop_test(tcase, an_offer_is_the_nearest_or_all_there_are, 0,
		sizeof(offers) / sizeof(offers[0]));
	tcase_add_test(tcase, an_offer_of_too_many_ends_at_a_whole_name);
	tcase_add_loop_test(tcase, stem_is_the_name_without_directory_and_end, 0,
		sizeof(files) / sizeof(files[0]));
	tcase_add_test(tcase, below_a_name_is_the_name_itself_and_what_follows_a_slash);
	Suite *suite = suite_create("text");
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
