/* SPDX-License-Identifier: MIT */
/* Answers that are kept: the right one, while it holds, and never too many. */
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/socket/answers.h"
#include "tests/support/suite.h"

static struct answers answers;

static void setup(void)
{
	answers = (struct answers){0};
}

static void teardown(void)
{
	answers_clear(&answers);
}

static void keep(const char *question, const char *answer)
{
	answers_keep(&answers, question, strlen(question), answer, strlen(answer), NULL);
}

static bool has(const char *question, const char *answer)
{
	size_t length = 0;
	const char *found = answers_find(&answers, question, strlen(question), &length);
	return found && length == strlen(answer) && memcmp(found, answer, length) == 0;
}

START_TEST(each_question_has_its_own_answer)
{
	keep("one", "1");
	keep("two", "22");
	keep("", "nothing");
	ck_assert(has("one", "1"));
	ck_assert(has("two", "22"));
	ck_assert(has("", "nothing"));
	ck_assert(!has("on", "1"));
	ck_assert(!has("onee", "1"));
}
END_TEST

START_TEST(a_later_answer_takes_the_place_of_an_earlier_one)
{
	for (int i = 0; i < 100; i++)
		keep("one", i % 2 ? "odd" : "even");
	ck_assert(has("one", "odd"));
	ck_assert_uint_eq(answers.bytes, strlen("one") + strlen("odd"));
}
END_TEST

START_TEST(nothing_is_found_before_anything_is_kept_and_after_a_change)
{
	ck_assert(!has("one", "1"));
	keep("one", "1");
	answers_clear(&answers);
	ck_assert(!has("one", "1"));
	ck_assert_uint_eq(answers.bytes, 0);
}
END_TEST

START_TEST(what_is_too_long_is_not_kept)
{
	static char most[ANSWERS_ENTRY_BYTES + 1];
	size_t length;

	answers_keep(&answers, most, 1, most, ANSWERS_ENTRY_BYTES - 1, NULL);
	ck_assert_ptr_nonnull(answers_find(&answers, most, 1, &length));
	answers_clear(&answers);
	answers_keep(&answers, most, 1, most, ANSWERS_ENTRY_BYTES, NULL);
	answers_keep(&answers, most, ANSWERS_ENTRY_BYTES + 1, most, 0, NULL);
	ck_assert_uint_eq(answers.bytes, 0);
	ck_assert_ptr_null(answers_find(&answers, most, 1, &length));
}
END_TEST

START_TEST(however_many_come_there_is_a_bound_and_the_last_is_there)
{
	static char answer[ANSWERS_ENTRY_BYTES];
	char question[16];
	size_t length;
	size_t sizes[] = {1, 1000, sizeof(answer) - sizeof(question)};

	for (int i = 0; i < 20000; i++) {
		int n = snprintf(question, sizeof(question), "%d", i);
		answers_keep(&answers, question, (size_t)n, answer, sizes[_i], NULL);
		ck_assert_uint_le(answers.bytes, ANSWERS_BYTES);
		ck_assert_ptr_nonnull(
			answers_find(&answers, question, (size_t)n, &length));
		ck_assert_uint_eq(length, sizes[_i]);
	}
}
END_TEST

START_TEST(a_thousand_different_questions_have_room)
{
	char question[16];
	size_t length, found = 0;

	for (int i = 0; i < 1000; i++) {
		int n = snprintf(question, sizeof(question), "%d", i);
		answers_keep(&answers, question, (size_t)n, question, (size_t)n, NULL);
	}
	for (int i = 0; i < 1000; i++) {
		int n = snprintf(question, sizeof(question), "%d", i);
		found += answers_find(&answers, question, (size_t)n, &length) != NULL;
	}
	ck_assert_uint_ge(found, 950);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("answers");
	TCase *tcase = tcase_create("answers");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, each_question_has_its_own_answer);
	tcase_add_test(tcase, a_later_answer_takes_the_place_of_an_earlier_one);
	tcase_add_test(
		tcase, nothing_is_found_before_anything_is_kept_and_after_a_change);
	tcase_add_test(tcase, what_is_too_long_is_not_kept);
	tcase_add_loop_test(
		tcase, however_many_come_there_is_a_bound_and_the_last_is_there, 0, 3);
	tcase_add_test(tcase, a_thousand_different_questions_have_room);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
