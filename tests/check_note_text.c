/* SPDX-License-Identifier: MIT */
/* Notes: faults of the text and of its keys. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/plugin/note.h"
#include "tests/support/notes.h"
#include "tests/support/suite.h"

static char *nested(int depth)
{
	char *text;
	char *inner = malloc((size_t)depth * 2 + 1);
	ck_assert_ptr_nonnull(inner);
	memset(inner, '[', (size_t)depth);
	memset(inner + depth, ']', (size_t)depth);
	inner[depth * 2] = '\0';
	ck_assert_int_ge(
		asprintf(&text, "{\"name\":\"a\",\"version\":\"1.0.0\",\"x\":%s}", inner),
		0);
	free(inner);
	return text;
}

START_TEST(n01_text_that_is_not_json_is_refused)
{
	static const char *const texts[] = {"", "kplug", "{\"name\":\"a\"", "{name:1}",
		"{\"name\":\"a\",\"version\":\"1.0.0\"}x"};
	for (size_t i = 0; i < 5; i++) {
		struct kp_diag diag;
		note_refused(texts[i], "json_syntax", NULL, &diag);
		ck_assert_uint_gt(diag.line, 0);
		ck_assert_uint_gt(diag.column, 0);
	}
}
END_TEST

START_TEST(n01_nul_inside_is_refused)
{
	static const char raw[] = "{\"name\":\"a\",\n\"version\":\0\"1.0.0\"}";
	static const char end[] = "{\"name\":\"a\",\"version\":\"1.0.0\"}";
	struct kp_diag diag;
	note_refused_bytes(raw, sizeof(raw) - 1, "json_nul", NULL, &diag);
	ck_assert_uint_eq(diag.line, 2);
	ck_assert_uint_eq(diag.column, 11);
	note_refused_bytes(end, sizeof(end), "json_nul", NULL, &diag);
	note_refused("{\"name\":\"a\\u0000b\",\"version\":\"1.0.0\"}", "json_nul", NULL,
		&diag);
}
END_TEST

START_TEST(n01_text_that_is_not_utf8_is_refused)
{
	static const char *const bad[] = {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80"};
	for (size_t i = 0; i < 4; i++) {
		char text[64];
		struct kp_diag diag;
		snprintf(text, sizeof(text), "{\n \"name\":\"%s\"}", bad[i]);
		note_refused(text, "json_not_utf8", NULL, &diag);
		ck_assert_uint_eq(diag.line, 2);
		ck_assert_uint_eq(diag.column, 10);
	}
}
END_TEST

START_TEST(n01_deep_nesting_is_refused)
{
	static const int depths[] = {KP_JSON_DEPTH, 1000, 100000};
	struct kp_diag diag;
	struct kp_note note;
	for (size_t i = 0; i < 3; i++) {
		char *text = nested(depths[i]);
		note_refused(text, "json_too_deep", NULL, &diag);
		free(text);
	}
	char *text = nested(KP_JSON_DEPTH - 1);
	ck_assert_int_eq(kp_note_parse(text, strlen(text), &note, NULL, &diag), 0);
	kp_note_finish(&note);
	free(text);
}
END_TEST

START_TEST(n01_duplicate_keys_are_refused)
{
	struct kp_diag diag;
	note_refused("{\"name\":\"a\",\n\"name\":\"b\",\"version\":\"1.0.0\"}",
		"json_duplicate_key", NULL, &diag);
	ck_assert_uint_eq(diag.line, 2);
	note_refused(
		"{\"name\":\"a\",\"version\":\"1.0.0\",\"abi\":{\"major\":0,\"major\":0}"
		"}",
		"json_duplicate_key", NULL, &diag);
	note_refused("{\"x\":1,\"\\u0078\":2}", "json_duplicate_key", NULL, &diag);
}
END_TEST

START_TEST(n01_five_mebibytes_are_refused)
{
	size_t size = 5 << 20;
	char *text = malloc(size);
	struct kp_diag diag;
	ck_assert_ptr_nonnull(text);
	memset(text, ' ', size);
	note_refused_bytes(text, size, "json_too_large", NULL, &diag);
	note_refused_bytes(text, KP_JSON_BYTES + 1, "json_too_large", NULL, &diag);
	note_refused_bytes(text, KP_JSON_BYTES, "json_syntax", NULL, &diag);
	free(text);
}
END_TEST

/* note_full as JSON, and the object at a path of it: "", "abi", "kernels[0]" ... */
static json_t *object_at(json_t *root, const char *path)
{
	json_t *kernel = json_array_get(json_object_get(root, "kernels"), 0);
	if (!*path)
		return root;
	if (strcmp(path, "kernels[0]") == 0)
		return kernel;
	if (strcmp(path, "kernels[0].capability") == 0)
		return json_object_get(kernel, "capability");
	if (strcmp(path, "kernels[0].traits.head_dim") == 0)
		return json_object_get(json_object_get(kernel, "traits"), "head_dim");
	return json_object_get(root, path);
}

static const struct {
	const char *parent, *key;
	json_type type;
	bool required;
} keys[] = {
	{"", "name", JSON_STRING, true},
	{"", "version", JSON_STRING, true},
	{"", "author", JSON_STRING, false},
	{"", "license", JSON_STRING, false},
	{"", "description", JSON_STRING, false},
	{"", "abi", JSON_OBJECT, false},
	{"", "host", JSON_OBJECT, false},
	{"", "kernels", JSON_ARRAY, false},
	{"", "$schema", JSON_STRING, false},
	{"abi", "major", JSON_INTEGER, false},
	{"abi", "built", JSON_INTEGER, false},
	{"abi", "needed", JSON_INTEGER, false},
	{"host", "min", JSON_STRING, false},
	{"host", "max", JSON_STRING, false},
	{"kernels[0]", "name", JSON_STRING, true},
	{"kernels[0]", "operation", JSON_STRING, true},
	{"kernels[0]", "priority", JSON_INTEGER, true},
	{"kernels[0]", "signatures", JSON_ARRAY, true},
	{"kernels[0]", "revision", JSON_INTEGER, false},
	{"kernels[0]", "solution", JSON_STRING, false},
	{"kernels[0]", "capability", JSON_OBJECT, false},
	{"kernels[0]", "traits", JSON_OBJECT, false},
	{"kernels[0]", "tags", JSON_ARRAY, false},
	{"kernels[0]", "features", JSON_ARRAY, false},
	{"kernels[0]", "flags", JSON_ARRAY, false},
	{"kernels[0]", "needs", JSON_ARRAY, false},
	{"kernels[0]", "layouts", JSON_ARRAY, false},
	{"kernels[0].capability", "device", JSON_STRING, false},
	{"kernels[0].capability", "vendors", JSON_ARRAY, false},
	{"kernels[0].capability", "min_arch", JSON_STRING, false},
	{"kernels[0].capability", "max_arch", JSON_STRING, false},
	{"kernels[0].capability", "features", JSON_ARRAY, false},
	{"kernels[0].traits.head_dim", "in", JSON_ARRAY, false},
	{"kernels[0].traits.head_dim", "min", JSON_INTEGER, false},
	{"kernels[0].traits.head_dim", "max", JSON_INTEGER, false},
	{"kernels[0].traits.head_dim", "multiple_of", JSON_INTEGER, false},
	{"kernels[0].traits.head_dim", "required", JSON_TRUE, false},
};
enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

static const char *path_of(int i, char path[128])
{
	snprintf(path, 128, "%s%s%s", keys[i].parent, keys[i].parent[0] ? "." : "",
		keys[i].key);
	return path;
}

START_TEST(n02_each_key_missing_in_turn)
{
	char path[128];
	struct kp_note note;
	struct kp_diag diag = {0};
	json_t *root = json_loads(note_full, 0, NULL);
	ck_assert_int_eq(
		json_object_del(object_at(root, keys[_i].parent), keys[_i].key), 0);
	int result = kp_note_from_json(root, &note, NULL, &diag);
	json_decref(root);
	if (!keys[_i].required) {
		ck_assert_msg(result == 0, "%s", diag.message);
		kp_note_finish(&note);
		return;
	}
	ck_assert_int_eq(result, -1);
	ck_assert_str_eq(diag.code, "missing_key");
	ck_assert_str_eq(diag.object, path_of(_i, path));
	ck_assert_ptr_nonnull(strstr(diag.message, path));
}
END_TEST

START_TEST(n02_each_key_of_each_wrong_type_in_turn)
{
	static const char *const values[] = {
		"{}", "[]", "\"x\"", "7", "7.5", "true", "false", "null"};
	char path[128];
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct kp_note note;
		struct kp_diag diag;
		json_t *value = json_loads(values[i], JSON_DECODE_ANY, NULL);
		json_type type =
			json_typeof(value) == JSON_FALSE ? JSON_TRUE : json_typeof(value);
		bool is_bound = keys[_i].type == JSON_INTEGER &&
				strstr(keys[_i].parent, "traits") != NULL;
		if (type == keys[_i].type || (is_bound && type == JSON_REAL)) {
			json_decref(value);
			continue;
		}
		json_t *root = json_loads(note_full, 0, NULL);
		json_object_set_new(
			object_at(root, keys[_i].parent), keys[_i].key, value);
		ck_assert_int_eq(kp_note_from_json(root, &note, NULL, &diag), -1);
		json_decref(root);
		ck_assert_str_eq(diag.code, "wrong_type");
		ck_assert_str_eq(diag.object, path_of(_i, path));
		ck_assert_ptr_nonnull(strstr(diag.message, path));
	}
}
END_TEST

static const char *const parents[] = {"", "abi", "host", "kernels[0]",
	"kernels[0].capability", "kernels[0].traits.head_dim"};

START_TEST(n02_unknown_key_is_a_warning)
{
	struct kp_note note;
	struct kp_diags warnings = {0};
	struct kp_diag diag;
	char path[128];
	json_t *root = json_loads(note_full, 0, NULL);
	json_object_set_new(object_at(root, parents[_i]), "zzyzx", json_null());
	ck_assert_int_eq(kp_note_from_json(root, &note, &warnings, &diag), 0);
	json_decref(root);
	ck_assert_uint_eq(warnings.count, 1);
	ck_assert_str_eq(warnings.items[0].code, "unknown_key");
	snprintf(path, sizeof(path), "%s%szzyzx", parents[_i], parents[_i][0] ? "." : "");
	ck_assert_str_eq(warnings.items[0].object, path);
	kp_diags_finish(&warnings);
	kp_note_finish(&note);
}
END_TEST

START_TEST(n02_unknown_keys_without_number_stay_bounded)
{
	struct kp_note note;
	struct kp_diags warnings = {0};
	struct kp_diag diag;
	char key[16];
	json_t *root = json_loads(note_full, 0, NULL);
	for (int i = 0; i < 5000; i++) {
		snprintf(key, sizeof(key), "zz%d", i);
		json_object_set_new(root, key, json_true());
	}
	ck_assert_int_eq(kp_note_from_json(root, &note, &warnings, &diag), 0);
	json_decref(root);
	ck_assert_uint_eq(warnings.count, KP_DIAGS_MOST);
	kp_diags_finish(&warnings);
	kp_note_finish(&note);
}
END_TEST

START_TEST(n02_fault_has_its_place_in_the_text)
{
	struct kp_diag diag;
	note_refused(
		"{\n  \"name\": \"a\",\n  \"version\": \"1.0.0\",\n  \"kernels\": [\n"
		"    {\"name\": \"x\", \"operation\": \"a/b\", \"priority\": 4,\n"
		"     \"signatures\": [\"a=f32\", \"a=fp32\"]}\n  ]\n}",
		"bad_signature", "kernels[0].signatures[1]", &diag);
	ck_assert_str_eq(diag.file, "note");
	ck_assert_uint_eq(diag.line, 6);
	ck_assert_uint_eq(diag.column, 30);
}
END_TEST

START_TEST(pl03_kernel_without_name_or_priority_is_refused)
{
	static const char *const kernels[][2] = {
		{"{\"operation\":\"a/b\",\"priority\":1,\"signatures\":[\"a=f32\"]}",
			"kernels[0].name"},
		{"{\"name\":\"x\",\"operation\":\"a/b\",\"signatures\":[\"a=f32\"]}",
			"kernels[0].priority"},
		{"{\"name\":\"x\",\"operation\":\"a/"
		 "b\",\"priority\":1,\"signatures\":[\"a=f32\"]},"
		 "{\"name\":\"y\",\"operation\":\"a/b\",\"signatures\":[\"a=f32\"]}",
			"kernels[1].priority"},
	};
	for (size_t i = 0; i < 3; i++) {
		struct kp_diag diag;
		char *text = note_with_kernels(kernels[i][0]);
		note_refused(text, "missing_key", kernels[i][1], &diag);
		free(text);
	}
}
END_TEST

START_TEST(rg33_solution_signature_and_priority_without_name_are_refused)
{
	struct kp_diag diag;
	char *text =
		note_with_kernels("{\"operation\":\"gemm/mm\",\"solution\":\"triton\","
				  "\"signatures\":[\"a=f32\"],\"priority\":12}");
	note_refused(text, "missing_key", "kernels[0].name", &diag);
	ck_assert_ptr_nonnull(strstr(diag.message, "kernels[0].name"));
	free(text);
}
END_TEST

/* Faults that nobody thought of: each changed text is read, or refused with a code. */
START_TEST(changed_notes_are_read_or_refused)
{
	static const char bytes[] = "{}[]\",:0-9.eEtfn\\u \n\x01\xff";
	size_t size = strlen(note_full);
	unsigned state = 1;
	for (int i = 0; i < 3000; i++) {
		struct kp_note note;
		struct kp_diag diag = {0};
		char *text = malloc(size);
		ck_assert_ptr_nonnull(text);
		memcpy(text, note_full, size);
		for (int k = 0; k <= i % 3; k++) {
			state = state * 1664525u + 1013904223u;
			text[(state >> 8) % size] =
				bytes[(state >> 4) % (sizeof(bytes) - 1)];
		}
		size_t cut = i % 5 ? size : (state >> 8) % size;
		if (kp_note_parse(text, cut, &note, NULL, &diag) == 0)
			kp_note_finish(&note);
		else
			ck_assert_ptr_nonnull(diag.code);
		free(text);
	}
}
END_TEST

static TCase *text(void)
{
	TCase *tcase = tcase_create("text");
	tcase_add_test(tcase, n01_text_that_is_not_json_is_refused);
	tcase_add_test(tcase, n01_nul_inside_is_refused);
	tcase_add_test(tcase, n01_text_that_is_not_utf8_is_refused);
	tcase_add_test(tcase, n01_deep_nesting_is_refused);
	tcase_add_test(tcase, n01_duplicate_keys_are_refused);
	tcase_add_test(tcase, n01_five_mebibytes_are_refused);
	tcase_add_test(tcase, changed_notes_are_read_or_refused);
	return tcase;
}

static TCase *members(void)
{
	TCase *tcase = tcase_create("members");
	tcase_add_loop_test(tcase, n02_each_key_missing_in_turn, 0, KEYS);
	tcase_add_loop_test(tcase, n02_each_key_of_each_wrong_type_in_turn, 0, KEYS);
	tcase_add_loop_test(tcase, n02_unknown_key_is_a_warning, 0,
		sizeof(parents) / sizeof(parents[0]));
	tcase_add_test(tcase, n02_unknown_keys_without_number_stay_bounded);
	tcase_add_test(tcase, n02_fault_has_its_place_in_the_text);
	tcase_add_test(tcase, pl03_kernel_without_name_or_priority_is_refused);
	tcase_add_test(
		tcase, rg33_solution_signature_and_priority_without_name_are_refused);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("note_text");
	suite_add_tcase(suite, text());
	suite_add_tcase(suite, members());
	return suite_run(suite);
}
