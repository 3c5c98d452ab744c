/* SPDX-License-Identifier: MIT */
/* Text that is laid out unread is what jansson makes of the value. */
#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json_layout.h"
#include "tests/support/suite.h"

static const char *const sure[] = {
	"{}",
	"[]",
	"null",
	"\"\"",
	"[true,false,null]",
	"[0,-1,123456789012345678]",
	"{\"a\":[],\"b\":{}}",
	"[[[[]]],{\"a\":{\"b\":[1,{\"c\":2}]}}]",
	"{\"quote\\\"d\":\"back\\\\slash\",\"line\":\"a\\nb\\tc\\rd\\be\\ff\"}",
	"\"\\u001B[31m\"",
	"{\"plugins\":[{\"name\":\"a\",\"kernels\":[\"k\"],\"reason\":null}],\"pending\":"
	"[]}",
};

START_TEST(laid_out_text_is_that_of_jansson)
{
	json_t *value = json_loads(sure[_i], JSON_DECODE_ANY, NULL);
	char *expected = json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY);
	char *out = NULL;
	size_t size = 0;

	ck_assert_int_eq(kp_json_lay_out(sure[_i], strlen(sure[_i]), &out, &size), 0);
	ck_assert_str_eq(out, expected);
	ck_assert_uint_eq(size, strlen(expected));
	free(out);
	free(expected);
	json_decref(value);
}
END_TEST

static const char *const unsure[] = {
	/* not JSON */
	"", "{", "}", "[1", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{a:1}",
	"{\"a\":1,}", "\"", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "nul", "01",
	"-", "+1", "truefalse", "[]]", "\"\n\"", "\"\x01\"", "[1]x",
	/* JSON that must be looked at */
	"1.5", "1e3", "1234567890123456789", "\"\x7f\"", "\"\xc3\xa9\"", "\"\xff\"",
	"\"\\ud83d\\ude00\"", " []", "[ ]", "{\"a\": 1}"};

START_TEST(what_is_not_sure_is_left_to_a_parser)
{
	char *out = NULL;
	size_t size = 0;

	ck_assert_int_eq(
		kp_json_lay_out(unsure[_i], strlen(unsure[_i]), &out, &size), -1);
	ck_assert_ptr_null(out);
}
END_TEST

START_TEST(a_text_that_is_cut_off_anywhere_is_refused)
{
	const char *whole = sure[sizeof(sure) / sizeof(sure[0]) - 1];
	char *out = NULL;
	size_t size;

	for (size_t n = 0; n < strlen(whole); n++)
		ck_assert_int_eq(kp_json_lay_out(whole, n, &out, &size), -1);
}
END_TEST

START_TEST(nesting_is_bounded)
{
	char text[256];
	char *out = NULL;
	size_t size;

	for (size_t depth = 60; depth < 128; depth++) {
		memset(text, '[', depth);
		text[depth] = '1';
		memset(text + depth + 1, ']', depth);
		int result = kp_json_lay_out(text, 2 * depth + 1, &out, &size);
		ck_assert_int_eq(result, depth <= 64 ? 0 : -1);
		if (result == 0)
			free(out);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("json_layout");
	TCase *tcase = tcase_create("json_layout");

	tcase_add_loop_test(tcase, laid_out_text_is_that_of_jansson, 0,
		sizeof(sure) / sizeof(sure[0]));
	tcase_add_loop_test(tcase, what_is_not_sure_is_left_to_a_parser, 0,
		sizeof(unsure) / sizeof(unsure[0]));
	tcase_add_test(tcase, a_text_that_is_cut_off_anywhere_is_refused);
	tcase_add_test(tcase, nesting_is_bounded);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
