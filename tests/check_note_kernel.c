/* SPDX-License-Identifier: MIT */
/* Notes: faults of values, and bounds. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/plugin/note.h"
#include "tests/support/notes.h"
#include "tests/support/suite.h"

static const char LONG_NAME[] = "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"";
static const char *const bad_names[] = {"\"\"", "\"a b\"", "\"a/b\"", "\"a\\u0001b\"",
	LONG_NAME, "\"-a\"", "\"\\u00e4\""};
enum { BAD_NAMES = sizeof(bad_names) / sizeof(bad_names[0]) };

START_TEST(n05_bad_name_is_refused_with_the_rule)
{
	static const char rule[] = "1 to 64 of the characters";
	char text[600], element[400];
	struct kp_diag diag;
	note_member_refused("name", bad_names[_i], "bad_name", "kernels[0].name", rule);
	note_member_refused(
		"solution", bad_names[_i], "bad_name", "kernels[0].solution", rule);
	snprintf(element, sizeof(element), "[\"x\",%s]", bad_names[_i]);
	note_member_refused("tags", element, "bad_name", "kernels[0].tags[1]", rule);
	note_member_refused(
		"features", element, "bad_name", "kernels[0].features[1]", rule);
	snprintf(
		text, sizeof(text), "{\"name\":%s,\"version\":\"1.0.0\"}", bad_names[_i]);
	note_refused(text, "bad_name", "name", &diag);
	ck_assert_ptr_nonnull(strstr(diag.message, rule));
}
END_TEST

START_TEST(n05_bad_trait_name_is_refused_with_the_rule)
{
	note_member_refused(
		"traits", "{\"a b\":1}", "bad_name", "kernels[0].traits.a b", "1 to 64");
	note_member_refused(
		"traits", "{\"\":1}", "bad_name", "kernels[0].traits.", "1 to 64");
}
END_TEST

static const struct {
	const char *value, *code, *said;
} priorities[] = {
	{"-1", "bad_priority", "not -1"},
	{"20", "bad_priority", "not 20"},
	{"1000000000", "bad_priority", "not 1000000000"},
	{"1e9", "wrong_type", "not a real number"},
	{"3.5", "wrong_type", "not a real number"},
	{"\"9\"", "wrong_type", "not a string"},
	{"null", "wrong_type", "not null"},
};
enum { PRIORITIES = sizeof(priorities) / sizeof(priorities[0]) };

START_TEST(n06_bad_priority_is_refused_with_range_and_type)
{
	note_member_refused("priority", priorities[_i].value, priorities[_i].code,
		"kernels[0].priority", "an integer from 0 to 19 expected");
	note_member_refused("priority", priorities[_i].value, priorities[_i].code,
		"kernels[0].priority", priorities[_i].said);
}
END_TEST

START_TEST(sl08_priority_below_the_range_is_refused)
{
	static const char *const below[] = {"-5", "-1", "-9223372036854775808"};
	for (size_t i = 0; i < 3; i++)
		note_member_refused("priority", below[i], "bad_priority",
			"kernels[0].priority", "from 0 to 19");
}
END_TEST

START_TEST(sl09_priority_above_the_range_is_refused)
{
	static const char *const above[] = {"20", "25", "9223372036854775807"};
	for (size_t i = 0; i < 3; i++)
		note_member_refused("priority", above[i], "bad_priority",
			"kernels[0].priority", "from 0 to 19");
}
END_TEST

START_TEST(nx18_priority_of_another_scale_is_refused)
{
	static const char *const others[] = {"50", "-5", "100"};
	for (size_t i = 0; i < 3; i++)
		note_member_refused("priority", others[i], "bad_priority",
			"kernels[0].priority", "from 0 to 19");
}
END_TEST

START_TEST(both_ends_of_the_priority_range_are_accepted)
{
	struct kp_note note;
	char *low = note_with_member("priority", "0");
	char *high = note_with_member("priority", "19");
	note_read(low, &note);
	ck_assert_int_eq(note.kernels[0].priority, 0);
	kp_note_finish(&note);
	note_read(high, &note);
	ck_assert_int_eq(note.kernels[0].priority, 19);
	kp_note_finish(&note);
	free(low);
	free(high);
}
END_TEST

START_TEST(nx20_two_kernels_of_one_name_are_refused)
{
	static const char one[] = "{\"name\":\"%s\",\"operation\":\"a/b\",\"priority\":1,"
				  "\"signatures\":[\"a=f32\"]}";
	static const struct {
		const char *names[4], *first, *second;
	} cases[] = {
		{{"x", "x", "y", "z"}, "kernels[0]", "kernels[1]"},
		{{"x", "y", "z", "x"}, "kernels[0]", "kernels[3]"},
		{{"a", "y", "b", "y"}, "kernels[1]", "kernels[3]"},
	};
	for (size_t i = 0; i < 3; i++) {
		char kernels[1024] = "";
		struct kp_diag diag;
		for (size_t k = 0; k < 4; k++) {
			size_t used = strlen(kernels);
			snprintf(kernels + used, sizeof(kernels) - used, "%s",
				k ? "," : "");
			used = strlen(kernels);
			snprintf(kernels + used, sizeof(kernels) - used, one,
				cases[i].names[k]);
		}
		char *text = note_with_kernels(kernels);
		note_refused(text, "duplicate_kernel", cases[i].second, &diag);
		ck_assert_ptr_nonnull(strstr(diag.message, cases[i].first));
		ck_assert_ptr_nonnull(strstr(diag.message, cases[i].second));
		free(text);
	}
}
END_TEST

static const struct {
	const char *key, *value, *code, *object, *part;
} wrong[] = {
	{"operation", "\"gemm\"", "bad_operation", "kernels[0].operation", "FAMILY/MODE"},
	{"operation", "\"/mm\"", "bad_operation", "kernels[0].operation", "FAMILY/MODE"},
	{"operation", "\"gemm/\"", "bad_operation", "kernels[0].operation",
		"FAMILY/MODE"},
	{"operation", "\"a/b/c\"", "bad_operation", "kernels[0].operation",
		"FAMILY/MODE"},
	{"operation", "\"gemm mm/x\"", "bad_operation", "kernels[0].operation",
		"FAMILY/MODE"},
	{"revision", "0", "bad_revision", "kernels[0].revision", "from 1"},
	{"revision", "-1", "bad_revision", "kernels[0].revision", "from 1"},
	{"revision", "99999999999", "bad_revision", "kernels[0].revision", "from 1"},
	{"signatures", "[\"a=f32\",7]", "wrong_type", "kernels[0].signatures[1]",
		"a string expected"},
	{"signatures", "[\"a=fp8\"]", "bad_signature", "kernels[0].signatures[0]",
		"ambiguous"},
	{"signatures", "[\"a=fp32\"]", "bad_signature", "kernels[0].signatures[0]",
		"write f32"},
	{"flags", "[\"reentrnat\"]", "unknown_flag", "kernels[0].flags[0]",
		"did you mean reentrant"},
	{"flags", "[\"capturable\",\"quick\"]", "unknown_flag", "kernels[0].flags[1]",
		"unknown flag quick"},
	{"needs", "[\"/lib/x.so\"]", "bad_need", "kernels[0].needs[0]", "soname"},
	{"needs", "[\"\"]", "bad_need", "kernels[0].needs[0]", "soname"},
	{"capability", "{\"device\":\"tpu\"}", "bad_capability",
		"kernels[0].capability.device", "cpu, gpu or any"},
	{"capability", "{\"min_arch\":\"sm_90\"}", "bad_arch",
		"kernels[0].capability.min_arch", "MAJOR.MINOR"},
	{"capability", "{\"max_arch\":\"9.\"}", "bad_arch",
		"kernels[0].capability.max_arch", "MAJOR.MINOR"},
	{"capability", "{\"min_arch\":\"9.0\",\"max_arch\":\"8.9\"}", "bad_arch",
		"kernels[0].capability.max_arch", "below min_arch 9.0"},
	{"capability", "{\"vendors\":[\"nv idia\"]}", "bad_name",
		"kernels[0].capability.vendors[0]", "1 to 64"},
	{"traits", "{\"d\":[]}", "bad_trait", "kernels[0].traits.d", "empty"},
	{"traits", "{\"d\":{\"in\":[]}}", "bad_trait", "kernels[0].traits.d.in", "empty"},
	{"traits", "{\"d\":[1,\"x\"]}", "bad_trait", "kernels[0].traits.d[1]",
		"all numbers"},
	{"traits", "{\"d\":[1,true]}", "bad_trait", "kernels[0].traits.d[1]",
		"all numbers"},
	{"traits", "{\"d\":[1,[2]]}", "wrong_type", "kernels[0].traits.d[1]",
		"not an array"},
	{"traits", "{\"d\":null}", "wrong_type", "kernels[0].traits.d", "not null"},
	{"traits", "{\"d\":{\"min\":2,\"max\":1}}", "bad_trait", "kernels[0].traits.d",
		"min is above max"},
	{"traits", "{\"d\":{\"multiple_of\":0}}", "bad_trait", "kernels[0].traits.d",
		"above 0"},
	{"traits", "{\"d\":{\"in\":[\"x\"],\"min\":1}}", "bad_trait",
		"kernels[0].traits.d", "for numbers"},
	{"traits", "{\"d\":9007199254740993}", "wrong_type", "kernels[0].traits.d",
		"beyond 2^53"},
};
enum { WRONG = sizeof(wrong) / sizeof(wrong[0]) };

START_TEST(wrong_value_is_named_by_its_path)
{
	note_member_refused(wrong[_i].key, wrong[_i].value, wrong[_i].code,
		wrong[_i].object, wrong[_i].part);
}
END_TEST

static const struct {
	const char *members, *code, *object, *part;
} wrong_head[] = {
	{"\"version\":\"1.2\"", "bad_version", "version", "patch version is missing"},
	{"\"version\":\"1.02.3\"", "bad_version", "version", "leading zero"},
	{"\"version\":\"1.0.0\",\"host\":{\"min\":\"x\"}", "bad_version", "host.min",
		"major version"},
	{"\"version\":\"1.0.0\",\"host\":{\"max\":\"1\"}", "bad_version", "host.max",
		"minor version is missing"},
	{"\"version\":\"1.0.0\",\"host\":{\"min\":\"2.0.0\",\"max\":\"1.0.0\"}",
		"empty_range", "host", "2.0.0"},
	{"\"version\":\"1.0.0\",\"abi\":{\"major\":-1}", "bad_abi", "abi.major",
		"from 0"},
	{"\"version\":\"1.0.0\",\"abi\":{\"needed\":4294967296}", "bad_abi", "abi.needed",
		"4294967296"},
};
enum { WRONG_HEAD = sizeof(wrong_head) / sizeof(wrong_head[0]) };

START_TEST(v01_wrong_version_abi_or_range_is_named_by_its_path)
{
	char text[256];
	struct kp_diag diag;
	snprintf(text, sizeof(text), "{\"name\":\"a\",%s}", wrong_head[_i].members);
	note_refused(text, wrong_head[_i].code, wrong_head[_i].object, &diag);
	ck_assert_msg(
		strstr(diag.message, wrong_head[_i].part) != NULL, "%s", diag.message);
}
END_TEST

static char *many_kernels(size_t count)
{
	char *text = malloc(count * 96 + 96);
	ck_assert_ptr_nonnull(text);
	size_t used = (size_t)sprintf(
		text, "{\"name\":\"a\",\"version\":\"1.0.0\",\"kernels\":[");
	for (size_t i = 0; i < count; i++)
		used += (size_t)sprintf(text + used,
			"%s{\"name\":\"k%05zu\",\"operation\":\"gemm/mm\",\"priority\":4,"
			"\"signatures\":[\"a=f32,b=f32\"]}",
			i ? "," : "", count - i);
	strcpy(text + used, "]}");
	return text;
}

START_TEST(n10_ten_thousand_kernels_are_accepted)
{
	static const size_t counts[] = {1, 10000, KP_PLUGIN_KERNELS};
	for (size_t i = 0; i < 3; i++) {
		struct kp_note note;
		char *text = many_kernels(counts[i]);
		note_read(text, &note);
		ck_assert_uint_eq(note.n_kernels, counts[i]);
		ck_assert_ptr_eq(
			kp_note_find(&note, "k00001"), &note.kernels[counts[i] - 1]);
		kp_note_finish(&note);
		free(text);
	}
}
END_TEST

START_TEST(n10_kernels_beyond_the_bound_are_refused)
{
	static const size_t counts[] = {KP_PLUGIN_KERNELS + 1, 20000, 30000};
	for (size_t i = 0; i < 3; i++) {
		struct kp_diag diag;
		char *text = many_kernels(counts[i]);
		note_refused(text, "too_many_kernels", "kernels", &diag);
		ck_assert_ptr_nonnull(strstr(diag.message, "16384"));
		free(text);
	}
}
END_TEST

/* [X,X,...] */
static char *repeated(const char *item, size_t count)
{
	char *text = malloc(count * (strlen(item) + 1) + 3);
	ck_assert_ptr_nonnull(text);
	size_t used = 0;
	for (size_t i = 0; i < count; i++)
		used += (size_t)sprintf(text + used, "%s%s", i ? "," : "[", item);
	strcpy(text + used, "]");
	return text;
}

START_TEST(arrays_of_a_kernel_are_bounded)
{
	char *texts = repeated("\"a=f32\"", KP_NOTE_STRINGS + 1);
	note_member_refused(
		"signatures", texts, "too_many", "kernels[0].signatures", "at most");
	note_member_refused("tags", texts, "too_many", "kernels[0].tags", "at most");
	free(texts);
	char *numbers = repeated("1", KP_NOTE_TRAIT_VALUES + 1);
	char traits[8192];
	snprintf(traits, sizeof(traits), "{\"d\":%s}", numbers);
	note_member_refused(
		"traits", traits, "too_many", "kernels[0].traits.d", "at most");
	free(numbers);
}
END_TEST

static TCase *values(void)
{
	TCase *tcase = tcase_create("values");
	tcase_add_loop_test(tcase, n05_bad_name_is_refused_with_the_rule, 0, BAD_NAMES);
	tcase_add_test(tcase, n05_bad_trait_name_is_refused_with_the_rule);
	tcase_add_loop_test(
		tcase, n06_bad_priority_is_refused_with_range_and_type, 0, PRIORITIES);
	tcase_add_test(tcase, sl08_priority_below_the_range_is_refused);
	tcase_add_test(tcase, sl09_priority_above_the_range_is_refused);
	tcase_add_test(tcase, nx18_priority_of_another_scale_is_refused);
	tcase_add_test(tcase, both_ends_of_the_priority_range_are_accepted);
	tcase_add_test(tcase, nx20_two_kernels_of_one_name_are_refused);
	tcase_add_loop_test(tcase, wrong_value_is_named_by_its_path, 0, WRONG);
	tcase_add_loop_test(tcase, v01_wrong_version_abi_or_range_is_named_by_its_path, 0,
		WRONG_HEAD);
	return tcase;
}

static TCase *bounds(void)
{
	TCase *tcase = tcase_create("bounds");
	tcase_add_test(tcase, n10_ten_thousand_kernels_are_accepted);
	tcase_add_test(tcase, n10_kernels_beyond_the_bound_are_refused);
	tcase_add_test(tcase, arrays_of_a_kernel_are_bounded);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("note_kernel");
	suite_add_tcase(suite, values());
	suite_add_tcase(suite, bounds());
	return suite_run(suite);
}
