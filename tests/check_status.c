/* SPDX-License-Identifier: MIT */
/* Statuses and error texts of every kind are made into what kplug knows. */
#include "lib/plugin/abi.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdbool.h>
#include <string.h>

/* ---- A13, K05: statuses --------------------------------------------------------- */

static const struct {
	int status, known;
	const char *text;
} statuses[] = {
	{KP_OK, KP_OK, "KP_OK"},
	{KP_INVALID, KP_INVALID, "KP_INVALID"},
	{KP_UNSUPPORTED, KP_UNSUPPORTED, "KP_UNSUPPORTED"},
	{KP_UNAVAILABLE, KP_UNAVAILABLE, "KP_UNAVAILABLE"},
	{KP_NO_MEMORY, KP_NO_MEMORY, "KP_NO_MEMORY"},
	{KP_RUNTIME, KP_RUNTIME, "KP_RUNTIME"},
	{KP_DEVICE_LOST, KP_DEVICE_LOST, "KP_DEVICE_LOST"},
	{KP_STALE, KP_STALE, "KP_STALE"},
	{KP_CANCELLED, KP_CANCELLED, "KP_CANCELLED"},
	{9, KP_RUNTIME, "KP_RUNTIME (9)"},
	{999, KP_RUNTIME, "KP_RUNTIME (999)"},
	{1234, KP_RUNTIME, "KP_RUNTIME (1234)"},
	{-1, KP_RUNTIME, "KP_RUNTIME (-1)"},
	{INT32_MIN, KP_RUNTIME, "KP_RUNTIME (-2147483648)"},
};

START_TEST(a13_k05_a_status_is_that_status_or_runtime_with_the_raw_number)
{
	struct kp_error error;
	char text[40];
	kp_error_reset(&error);
	ck_assert_uint_eq(error.size, sizeof(error));
	error.native_code = 42;
	int known = kp_error_settle(&error, statuses[_i].status);
	ck_assert_int_eq(known, statuses[_i].known);
	ck_assert_int_eq(kp_status_known(statuses[_i].status), statuses[_i].known);
	ck_assert_int_eq(error.status, statuses[_i].known);
	bool is_raw = statuses[_i].status < 0 || statuses[_i].status > KP_CANCELLED;
	ck_assert_int_eq(error.native_code, is_raw ? statuses[_i].status : 42);
	ck_assert_str_eq(kp_status_text(statuses[_i].status, text, sizeof(text)),
		statuses[_i].text);
}
END_TEST

/* ---- A15: texts -------------------------------------------------------------------- */

START_TEST(a15_an_unterminated_text_is_cut)
{
	struct kp_error error;
	kp_error_reset(&error);
	memset(error.text, 'x', sizeof(error.text));
	kp_error_settle(&error, KP_RUNTIME);
	ck_assert_uint_eq(strlen(error.text), sizeof(error.text) - 1);
}
END_TEST

START_TEST(a15_bad_utf8_and_controls_are_escaped)
{
	struct kp_error error;
	kp_error_reset(&error);
	strcpy(error.text, "bad \xff\xc0\xaf, \x1b[31mred, \u00fc");
	kp_error_settle(&error, KP_INVALID);
	ck_assert_str_eq(error.text, "bad \\xff\\xc0\\xaf, \\x1b[31mred, \u00fc");
}
END_TEST

START_TEST(a15_a_text_that_grows_by_escapes_is_cut_at_a_whole_one)
{
	struct kp_error error;
	kp_error_reset(&error);
	memset(error.text, 0x80, sizeof(error.text));
	kp_error_settle(&error, KP_INVALID);
	size_t length = strlen(error.text);
	ck_assert_uint_lt(length, sizeof(error.text));
	ck_assert_uint_eq(length % 4, 0);
	ck_assert_str_eq(error.text + length - 4, "\\x80");
}
END_TEST

START_TEST(a15_a_head_that_was_written_over_is_restored)
{
	struct kp_error error;
	memset(&error, 0xee, sizeof(error));
	kp_error_settle(&error, KP_INVALID);
	ck_assert_uint_eq(error.size, sizeof(error));
	ck_assert_uint_eq(error.flags, 0);
	ck_assert_int_eq(error.status, KP_INVALID);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("status");
	TCase *tcase = tcase_create("status");
	tcase_add_loop_test(tcase,
		a13_k05_a_status_is_that_status_or_runtime_with_the_raw_number, 0,
		(int)(sizeof(statuses) / sizeof(statuses[0])));
	tcase_add_test(tcase, a15_an_unterminated_text_is_cut);
	tcase_add_test(tcase, a15_bad_utf8_and_controls_are_escaped);
	tcase_add_test(tcase, a15_a_text_that_grows_by_escapes_is_cut_at_a_whole_one);
	tcase_add_test(tcase, a15_a_head_that_was_written_over_is_restored);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
