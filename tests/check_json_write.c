/* SPDX-License-Identifier: MIT */
/* Text that is written straight is what jansson would print. */
#include "lib/base/json_write.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "tests/support/suite.h"

static const char *const strings[] = {"", "plain", "a \"quoted\" one", "back\\slash",
	"a\nline\tand \x01", "\x7f", "m\xc3\xbcsli", "broken \xff\xfe", "\xe2\x80\xae",
	"a/b", "~}{[],:"};

START_TEST(strings_are_what_values_of_them_are)
{
	struct kp_json_writer writer = {0};
	json_t *value = json_pack("[o, s]", kp_json_clean_string(strings[_i]), "next");
	char *expected = kp_json_dumps(value, JSON_COMPACT);
	size_t size = 0;

	kp_json_write_begin(&writer, '[');
	kp_json_write_string(&writer, strings[_i]);
	kp_json_write_string(&writer, "next");
	kp_json_write_end(&writer, ']');
	char *text = kp_json_write_finish(&writer, &size);
	ck_assert_str_eq(text, expected);
	ck_assert_uint_eq(size, strlen(expected));
	free(text);
	free(expected);
	json_decref(value);
}
END_TEST

START_TEST(commas_are_between_values_only)
{
	struct kp_json_writer writer = {0};
	size_t size;

	kp_json_write_begin(&writer, '{');
	kp_json_write_key(&writer, "none");
	kp_json_write_begin(&writer, '[');
	kp_json_write_end(&writer, ']');
	kp_json_write_key(&writer, "two");
	kp_json_write_begin(&writer, '[');
	kp_json_write_begin(&writer, '{');
	kp_json_write_end(&writer, '}');
	kp_json_write_integer(&writer, INT64_MIN);
	kp_json_write_end(&writer, ']');
	kp_json_write_key(&writer, "null");
	kp_json_write_string(&writer, NULL);
	kp_json_write_key(&writer, "value");
	kp_json_write_value(&writer, json_pack("{s:b}", "yes", 1));
	kp_json_write_end(&writer, '}');
	char *text = kp_json_write_finish(&writer, &size);
	ck_assert_str_eq(text, "{\"none\":[],\"two\":[{},-9223372036854775808],"
			       "\"null\":null,\"value\":{\"yes\":true}}");
	free(text);
}
END_TEST

START_TEST(much_text_is_whole)
{
	enum { MANY = 100000 };
	struct kp_json_writer writer = {0};
	size_t size;

	kp_json_write_begin(&writer, '[');
	for (int i = 0; i < MANY; i++)
		kp_json_write_integer(&writer, i);
	kp_json_write_end(&writer, ']');
	char *text = kp_json_write_finish(&writer, &size);
	ck_assert_uint_eq(strlen(text), size);
	json_t *list = json_loads(text, 0, NULL);
	ck_assert_uint_eq(json_array_size(list), MANY);
	for (int i = 0; i < MANY; i++)
		ck_assert_int_eq(json_integer_value(json_array_get(list, (size_t)i)), i);
	json_decref(list);
	free(text);
}
END_TEST

START_TEST(what_lacks_a_value_is_no_text)
{
	struct kp_json_writer writer = {0};
	size_t size;

	kp_json_write_begin(&writer, '[');
	kp_json_write_value(&writer, NULL);
	kp_json_write_string(&writer, "next");
	kp_json_write_end(&writer, ']');
	ck_assert_ptr_null(kp_json_write_finish(&writer, &size));
	/* Nothing is left of it. */
	kp_json_write_integer(&writer, 7);
	char *text = kp_json_write_finish(&writer, &size);
	ck_assert_str_eq(text, "7");
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("json_write");
	TCase *tcase = tcase_create("json_write");

	tcase_add_loop_test(tcase, strings_are_what_values_of_them_are, 0,
		sizeof(strings) / sizeof(strings[0]));
	tcase_add_test(tcase, commas_are_between_values_only);
	tcase_add_test(tcase, much_text_is_whole);
	tcase_add_test(tcase, what_lacks_a_value_is_no_text);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
