/* SPDX-License-Identifier: MIT */
/* Bounded JSON: what is refused, which keys are, and where a path is in a text. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "tests/support/suite.h"

static json_t *parsed(const char *text)
{
	json_t *value;
	struct kp_diag diag;
	int result = kp_json_parse(text, strlen(text), "f.json", &value, &diag);
	ck_assert_msg(result == 0, "%s", diag.message);
	return value;
}

/* ---- parsing ---- */

static const char *const good[] = {"{}", "[]", "7", "\"x\"", "null", " [1, 2.5, true]\n",
	"{\"a\":{\"b\":[{}]}}", "\"\\u00e4\\ud83d\\ude00\"", "\"\xc3\xa4\""};

START_TEST(every_document_is_read)
{
	json_decref(parsed(good[_i]));
}
END_TEST

static const struct {
	const char *text, *code;
	unsigned line, column;
} bad[] = {
	{"", "json_syntax", 1, 1},
	{"{", "json_syntax", 1, 1},
	{"{\n  \"a\": tru\n}", "json_syntax", 2, 10},
	{"{}\n{}", "json_syntax", 2, 1},
	{"{\"a\":1,\"a\":2}", "json_duplicate_key", 1, 10},
	{"[\n\"\\u0000\"]", "json_nul", 2, 8},
	{"[\"\xc3\xa4\",\n \"\xff\"]", "json_not_utf8", 2, 3},
	{"[1e400]", "json_syntax", 1, 6},
	{"[99999999999999999999]", "json_syntax", 1, 21},
};
enum { BAD = sizeof(bad) / sizeof(bad[0]) };

START_TEST(t07_bad_text_has_code_and_place)
{
	json_t *value = NULL;
	struct kp_diag diag;
	ck_assert_int_eq(kp_json_parse(bad[_i].text, strlen(bad[_i].text), "f.json",
				 &value, &diag),
		-1);
	ck_assert_ptr_null(value);
	ck_assert_str_eq(diag.code, bad[_i].code);
	ck_assert_str_eq(diag.file, "f.json");
	ck_assert_uint_eq(diag.line, bad[_i].line);
	ck_assert_uint_eq(diag.column, bad[_i].column);
	ck_assert_str_ne(diag.message, "");
}
END_TEST

/* `depth` times `open`, then `depth` times `shut`. */
static char *nested(const char *open, const char *shut, size_t depth)
{
	char *text = calloc(depth + 1, strlen(open) + strlen(shut));
	ck_assert_ptr_nonnull(text);
	for (size_t i = 0; i < depth; i++)
		memcpy(text + i * strlen(open), open, strlen(open));
	for (size_t i = 0; i < depth; i++)
		memcpy(text + depth * strlen(open) + i * strlen(shut), shut,
			strlen(shut));
	return text;
}

static int parse_nested(
	const char *open, const char *shut, size_t depth, struct kp_diag *diag)
{
	json_t *value = NULL;
	char *text = nested(open, shut, depth);
	int result = kp_json_parse(text, strlen(text), NULL, &value, diag);
	json_decref(value);
	free(text);
	return result;
}

START_TEST(t71_depth_is_bounded)
{
	struct kp_diag diag;
	ck_assert_int_eq(parse_nested("[", "]", KP_JSON_DEPTH, &diag), 0);
	ck_assert_int_eq(parse_nested("[", "]", KP_JSON_DEPTH + 1, &diag), -1);
	ck_assert_str_eq(diag.code, "json_too_deep");
	ck_assert_uint_eq(diag.column, KP_JSON_DEPTH + 1);
	ck_assert_int_eq(parse_nested("{\"a\":", "}", KP_JSON_DEPTH + 1, &diag), -1);
	ck_assert_str_eq(diag.code, "json_too_deep");
	ck_assert_int_eq(parse_nested("[", "]", 1000000, &diag), -1);
	ck_assert_str_eq(diag.code, "json_too_deep");
}
END_TEST

START_TEST(brackets_in_strings_are_not_depth)
{
	char text[256] = "[\"";
	json_t *value;
	struct kp_diag diag;
	memset(text + 2, '[', 100);
	strcpy(text + 102, "\\\"[{\"]");
	ck_assert_int_eq(kp_json_parse(text, strlen(text), NULL, &value, &diag), 0);
	json_decref(value);
}
END_TEST

START_TEST(t71_size_is_bounded)
{
	char *text = malloc(KP_JSON_BYTES + 1);
	json_t *value;
	struct kp_diag diag;
	ck_assert_ptr_nonnull(text);
	memset(text, ' ', KP_JSON_BYTES + 1);
	text[0] = '7';
	ck_assert_int_eq(kp_json_parse(text, KP_JSON_BYTES, NULL, &value, &diag), 0);
	json_decref(value);
	ck_assert_int_eq(kp_json_parse(text, KP_JSON_BYTES + 1, "f", &value, &diag), -1);
	ck_assert_str_eq(diag.code, "json_too_large");
	ck_assert_str_eq(diag.file, "f");
	free(text);
}
END_TEST

START_TEST(text_need_not_be_terminated)
{
	json_t *value;
	struct kp_diag diag;
	ck_assert_int_eq(kp_json_parse("[1]x", 3, NULL, &value, &diag), 0);
	ck_assert_uint_eq(json_array_size(value), 1);
	json_decref(value);
}
END_TEST

/* ---- keys ---- */

static const struct kp_json_key keys[] = {
	{"name", KP_JSON_STRING, true},
	{"count", KP_JSON_INTEGER, false},
	{"ratio", KP_JSON_NUMBER, false},
	{"list", KP_JSON_ARRAY | KP_JSON_NULL, false},
	{"on", KP_JSON_BOOLEAN, false},
};
enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

static const struct {
	const char *text, *path, *code, *object, *message;
} checks[] = {
	{"{\"name\":\"x\"}", "", NULL, NULL, NULL},
	{"{\"name\":\"\",\"count\":1,\"ratio\":1,\"list\":null,\"on\":true}", "a[0]",
		NULL, NULL, NULL},
	{"{\"name\":\"x\",\"ratio\":0.5,\"on\":false,\"list\":[]}", "", NULL, NULL, NULL},
	{"{}", "", "missing_key", "name", "the key name is missing"},
	{"{}", "kernels[2]", "missing_key", "kernels[2].name",
		"the key kernels[2].name is missing"},
	{"[]", "kernels[2]", "wrong_type", "kernels[2]",
		"kernels[2]: an object expected, not an array"},
	{"[]", "", "wrong_type", "", "an object expected, not an array"},
	{"{\"name\":7}", "", "wrong_type", "name",
		"name: a string expected, not an integer"},
	{"{\"name\":\"x\",\"count\":1.0}", "", "wrong_type", "count",
		"count: an integer expected, not a real number"},
	{"{\"name\":\"x\",\"ratio\":\"1\"}", "", "wrong_type", "ratio",
		"ratio: a number expected, not a string"},
	{"{\"name\":\"x\",\"list\":{}}", "", "wrong_type", "list",
		"list: an array or null expected, not an object"},
	{"{\"name\":\"x\",\"on\":null}", "p", "wrong_type", "p.on",
		"p.on: a boolean expected, not null"},
	{"{\"name\":\"x\",\"cuont\":1}", "", "unknown_key", "cuont",
		"unknown key cuont; did you mean count?"},
	{"{\"name\":\"x\",\"zzzz\":1}", "p", "unknown_key", "p.zzzz",
		"unknown key p.zzzz"},
};
enum { CHECKS = sizeof(checks) / sizeof(checks[0]) };

START_TEST(keys_are_held_to_their_table)
{
	struct kp_diag diag;
	json_t *value = parsed(checks[_i].text);
	int result = kp_json_check(value, checks[_i].path, keys, KEYS, NULL, &diag);
	json_decref(value);
	ck_assert_int_eq(result, checks[_i].code ? -1 : 0);
	if (!checks[_i].code)
		return;
	ck_assert_str_eq(diag.code, checks[_i].code);
	ck_assert_str_eq(diag.object, checks[_i].object);
	ck_assert_str_eq(diag.message, checks[_i].message);
}
END_TEST

START_TEST(unknown_keys_may_be_warnings)
{
	struct kp_diags unknown = {0};
	struct kp_diag diag;
	json_t *value = parsed("{\"name\":\"x\",\"nmae\":1,\"other\":2}");
	ck_assert_int_eq(kp_json_check(value, "k", keys, KEYS, &unknown, &diag), 0);
	json_decref(value);
	ck_assert_uint_eq(unknown.count, 2);
	ck_assert_str_eq(unknown.items[0].object, "k.nmae");
	ck_assert_ptr_nonnull(strstr(unknown.items[0].message, "did you mean name?"));
	kp_diags_finish(&unknown);
}
END_TEST

START_TEST(overlong_key_is_cut_not_trusted)
{
	char text[4096] = "{\"name\":\"x\",\"";
	struct kp_diag diag;
	size_t used = strlen(text);
	memset(text + used, 'k', 3000);
	strcpy(text + used + 3000, "\":1}");
	json_t *value = parsed(text);
	ck_assert_int_eq(kp_json_check(value, "", keys, KEYS, NULL, &diag), -1);
	ck_assert_str_eq(diag.code, "unknown_key");
	ck_assert_uint_eq(strlen(diag.object), sizeof(diag.object) - 1);
	json_decref(value);
}
END_TEST

/* ---- places ---- */

static const char TEXT[] =
	"\n"							  /* 1 */
	"{\n"							  /* 2 */
	"  \"name\": \"a\",\n"					  /* 3 */
	"  \"a.b\": 1, \"a\": 2,\n"				  /* 4 */
	"\t\"kernels\": [\n"					  /* 5 */
	"    {\"x\": [1, {\"priority\": 1}], \"priority\": 2},\n" /* 6 */
	"    7, \"]}\\\"\", {\n"				  /* 7 */
	"      \"\xc3\xa4\": 0, \"priority\": 3,\n"		  /* 8 */
	"      \"signatures\": [\"a\",\n"			  /* 9 */
	"        \"b\"]\n"					  /* 10 */
	"    }\n"						  /* 11 */
	"  ]\n"							  /* 12 */
	"}\n";							  /* 13 */

static const struct {
	const char *path;
	unsigned line, column;
} places[] = {
	{"", 2, 1},
	{"name", 3, 3},
	{"a", 4, 13},
	{"a.b", 4, 3},
	{"kernels", 5, 2},
	{"kernels[0]", 6, 5},
	{"kernels[0].priority", 6, 33},
	{"kernels[0].x[1].priority", 6, 16},
	{"kernels[1]", 7, 5},
	{"kernels[2]", 7, 8},
	{"kernels[3].priority", 8, 15},
	{"kernels[3].signatures[1]", 10, 9},
	/* What is not there is placed at what should have it. */
	{"missing", 2, 1},
	{"kernels[3].missing", 7, 16},
	{"kernels[0].x[1].missing", 6, 15},
};
enum { PLACES = sizeof(places) / sizeof(places[0]) };

START_TEST(path_is_found_in_the_text)
{
	struct kp_diag diag;
	kp_diag_set(&diag, "x", places[_i].path, "wrong");
	ck_assert_int_eq(kp_json_place(&diag, TEXT, strlen(TEXT), "f.json"), -1);
	ck_assert_str_eq(diag.file, "f.json");
	ck_assert_uint_eq(diag.line, places[_i].line);
	ck_assert_uint_eq(diag.column, places[_i].column);
	ck_assert_str_eq(diag.message, "wrong");
}
END_TEST

static const char *const strange[] = {"[0]", "kernels[99999999999999999999]",
	"kernels[-1]", "kernels[", "kernels[0", "kernels]", "..", ".", "name[0]",
	"name.x", "kernels[0][0]", "kernels.x"};

START_TEST(path_that_cannot_be_is_placed_somewhere_in_the_text)
{
	struct kp_diag diag;
	kp_diag_set(&diag, "x", strange[_i], "wrong");
	ck_assert_int_eq(kp_json_place(&diag, TEXT, strlen(TEXT), "f"), -1);
	ck_assert_uint_ge(diag.line, 1);
	ck_assert_uint_le(diag.line, 14);
}
END_TEST

START_TEST(every_cut_of_the_text_is_placed_without_harm)
{
	for (size_t size = 0; size <= strlen(TEXT); size++) {
		struct kp_diag diag;
		char *cut = malloc(size + 1);
		ck_assert_ptr_nonnull(cut);
		memcpy(cut, TEXT, size);
		kp_diag_set(&diag, "x", "kernels[3].signatures[1]", "wrong");
		ck_assert_int_eq(kp_json_place(&diag, cut, size, "f"), -1);
		free(cut);
	}
}
END_TEST

START_TEST(bytes_become_a_string_that_json_can_hold)
{
	json_t *value = kp_json_clean_string("a\xff\x01");
	ck_assert_str_eq(json_string_value(value), "a\\xff\\x01");
	json_decref(value);
}
END_TEST

static TCase *texts(void)
{
	TCase *tcase = tcase_create("text");
	tcase_add_loop_test(
		tcase, every_document_is_read, 0, sizeof(good) / sizeof(good[0]));
	tcase_add_loop_test(tcase, t07_bad_text_has_code_and_place, 0, BAD);
	tcase_add_test(tcase, t71_depth_is_bounded);
	tcase_add_test(tcase, brackets_in_strings_are_not_depth);
	tcase_add_test(tcase, t71_size_is_bounded);
	tcase_add_test(tcase, text_need_not_be_terminated);
	tcase_add_test(tcase, bytes_become_a_string_that_json_can_hold);
	return tcase;
}

static TCase *members(void)
{
	TCase *tcase = tcase_create("members");
	tcase_add_loop_test(tcase, keys_are_held_to_their_table, 0, CHECKS);
	tcase_add_test(tcase, unknown_keys_may_be_warnings);
	tcase_add_test(tcase, overlong_key_is_cut_not_trusted);
	tcase_add_loop_test(tcase, path_is_found_in_the_text, 0, PLACES);
	tcase_add_loop_test(tcase, path_that_cannot_be_is_placed_somewhere_in_the_text, 0,
		sizeof(strange) / sizeof(strange[0]));
	tcase_add_test(tcase, every_cut_of_the_text_is_placed_without_harm);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("json");
	suite_add_tcase(suite, texts());
	suite_add_tcase(suite, members());
	return suite_run(suite);
}
