/* SPDX-License-Identifier: MIT */
/* Findings about texts: codes, mending, what two kernels accept together. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/owned.h"
#include "lib/lint/lint.h"
#include "lib/lint/mend.h"
#include "lib/lint/ties.h"
#include "tests/support/notes.h"
#include "tests/support/suite.h"

/* ---- codes ---- */

START_TEST(codes_of_each_table_are_in_byte_order_and_each_once)
{
	const struct kp_code_table *tables[] = {&kp_codes_of_text, &kp_codes_of_library,
		&kp_codes_of_probe, &kp_codes_of_machine};
	for (size_t t = 0; t < KP_COUNT(tables); t++)
		for (size_t i = 1; i < tables[t]->count; i++)
			ck_assert_msg(strcmp(tables[t]->rows[i - 1].code,
					      tables[t]->rows[i].code) < 0,
				"%s stands before %s", tables[t]->rows[i - 1].code,
				tables[t]->rows[i].code);
}
END_TEST

START_TEST(every_row_is_found_by_its_code_and_no_other)
{
	const struct kp_code *row;
	size_t i = 0;
	for (; (row = kp_code_at(i)); i++)
		ck_assert_ptr_eq(kp_code_find(row->code), row);
	ck_assert_uint_eq(i, kp_codes_of_text.count + kp_codes_of_library.count +
				     kp_codes_of_probe.count + kp_codes_of_machine.count);
	ck_assert_str_eq(kp_code_find("never heard of")->code, "failed");
	ck_assert_int_eq(kp_code_find("")->severity, KP_SEVERITY_ERROR);
}
END_TEST

/* ---- findings ---- */

START_TEST(a_finding_is_kept_once_with_its_remedy)
{
	struct kp_lint lint = {0};
	struct kp_diag diag;
	kp_diag_set(&diag, "unknown_key", "x", "x: what is that");
	kp_diag_at(&diag, "f.json", 3, 4);
	kp_lint_add(&lint, NULL, &diag);
	kp_lint_add(&lint, NULL, &diag);
	ck_assert_uint_eq(json_array_size(lint.findings), 1);
	ck_assert_uint_eq(lint.counts[KP_SEVERITY_ERROR], 1);
	const json_t *row = json_array_get(lint.findings, 0);
	ck_assert_str_eq(kp_json_text(row, "severity"), "error");
	ck_assert_str_eq(
		kp_json_text(row, "remedy"), kp_code_find("unknown_key")->remedy);
	ck_assert_int_eq(json_integer_value(json_object_get(row, "line")), 3);
	kp_lint_finish(&lint);
}
END_TEST

START_TEST(findings_beyond_the_most_are_counted_not_kept)
{
	struct kp_lint lint = {0};
	struct kp_diag diag;
	char file[32];
	for (size_t i = 0; i < KP_LINT_MOST + 5; i++) {
		(void)snprintf(file, sizeof(file), "%zu", i);
		kp_diag_set(&diag, "no_kernels", NULL, "none");
		kp_lint_add(&lint, file, &diag);
	}
	ck_assert_uint_eq(json_array_size(lint.findings), KP_LINT_MOST);
	ck_assert_uint_eq(lint.dropped, 5);
	ck_assert_uint_eq(lint.counts[KP_SEVERITY_WARNING], KP_LINT_MOST + 5);
	kp_lint_finish(&lint);
}
END_TEST

/* ---- mending ---- */

START_TEST(what_a_path_names_is_taken_away_or_replaced)
{
	static const struct {
		const char *before, *path, *after;
	} rows[] = {
		{"{\"a\": 1, \"b\": 2}", "a", "{\"b\": 2}"},
		{"{\"a\": {\"c\": 1}}", "a.c", "{}"},
		{"{\"a.c\": 1, \"a\": 2}", "a.c", "{\"a\": 2}"},
		{"{\"name\": 3}", "name", "{\"name\": \"good\"}"},
		{"{}", "name", "{\"name\": \"good\"}"},
		{"{\"kernels\": [{\"p\": 9, \"q\": 1}]}", "kernels[0].p",
			"{\"kernels\": [{\"p\": 1, \"q\": 1}]}"},
		{"{\"kernels\": [{\"x\": [1]}]}", "kernels[0].x[0]",
			"{\"kernels\": [{}]}"},
		{"{\"kernels\": [5]}", "kernels[0]",
			"{\"kernels\": [{\"p\": 1, \"name\": \"kplug-mended-0\"}]}"},
	};
	for (size_t i = 0; i < KP_COUNT(rows); i++) {
		owned_json *root = json_loads(rows[i].before, 0, NULL);
		owned_json *wanted = json_loads(rows[i].after, 0, NULL);
		owned_json *good = json_pack("{s:s}", "name", "good");
		owned_json *kernel = json_pack("{s:i}", "p", 1);
		ck_assert(kp_mend(root, rows[i].path, good, kernel));
		ck_assert_msg(json_equal(root, wanted), "%s", rows[i].path);
	}
}
END_TEST

START_TEST(a_path_that_leads_nowhere_changes_nothing)
{
	static const char *const paths[] = {"", "z", "[0]", "kernels[7].p", "kernels[0",
		"kernels[99999999999999999999].p", "kernels[0].z", "name"};
	owned_json *root =
		json_loads("{\"name\": \"good\", \"kernels\": [{\"p\": 1}]}", 0, NULL);
	owned_json *same = json_deep_copy(root);
	owned_json *good = json_pack("{s:s}", "name", "good");
	owned_json *kernel = json_pack("{s:i}", "p", 1);
	for (size_t i = 0; i < KP_COUNT(paths); i++)
		ck_assert_msg(!kp_mend(root, paths[i], good, kernel), "%s", paths[i]);
	ck_assert(json_equal(root, same));
}
END_TEST

START_TEST(a_manifest_cut_at_any_byte_has_a_finding_and_an_end)
{
	static const char whole[] = "{\"library\": \"x.so\", \"timout\": 5, \"enabled\": "
				    "1, \"sha256\": \"\"}";
	for (size_t size = 0; size < sizeof(whole); size++) {
		struct kp_lint lint = {0};
		struct kp_manifest manifest = {0};
		char *bytes = malloc(size + 1);
		memcpy(bytes, whole, size);
		const struct kp_lint_text text = {"x.json", bytes, size};
		if (kp_lint_manifest(&lint, &text, &manifest))
			kp_manifest_finish(&manifest);
		ck_assert_uint_gt(json_array_size(lint.findings), 0);
		ck_assert(!lint.failed);
		kp_lint_finish(&lint);
		free(bytes);
	}
}
END_TEST

START_TEST(a_note_of_many_faults_has_them_all_and_an_end)
{
	struct kp_lint lint = {0};
	struct kp_families families = {0};
	struct kp_note note;
	owned_json *kernels = json_array();
	for (int i = 0; i < 100; i++)
		json_array_append_new(kernels,
			json_pack("{s:s, s:s, s:i, s:[s]}", "name", "same", "operation",
				"x", "priority", 99, "signatures", "???"));
	owned_json *root =
		json_pack("{s:i, s:b, s:O}", "name", 3, "version", 1, "kernels", kernels);
	const struct kp_lint_text text = {"n.json", NULL, 0};
	bool read = kp_lint_note(&lint, &text, root, &families, 0, &note);
	if (read)
		kp_note_finish(&note);
	ck_assert(!lint.failed);
	ck_assert_uint_ge(lint.counts[KP_SEVERITY_ERROR], 200);
	kp_lint_finish(&lint);
}
END_TEST

/* ---- meeting ---- */

static bool meet(const char *key, const char *one, const char *other)
{
	struct kp_note a, b;
	owned_text left = note_with_member(key, one);
	owned_text right = note_with_member(key, other);
	note_read(left, &a);
	note_read(right, &b);
	bool result = kp_specs_meet(&a.kernels[0], &b.kernels[0], NULL);
	ck_assert_int_eq(kp_specs_meet(&b.kernels[0], &a.kernels[0], NULL), result);
	kp_note_finish(&a);
	kp_note_finish(&b);
	return result;
}

START_TEST(conditions_on_values_meet_where_a_value_passes_both)
{
	static const struct {
		const char *a, *b;
		bool meets;
	} rows[] = {
		{"{\"m\": {\"min\": 1, \"max\": 5}}", "{\"m\": {\"min\": 5}}", true},
		{"{\"m\": {\"max\": 4.5}}", "{\"m\": {\"min\": 4.75}}", false},
		{"{\"m\": {\"multiple_of\": 7, \"max\": 20}}",
			"{\"m\": {\"multiple_of\": 3, \"min\": 1}}", false},
		{"{\"m\": {\"multiple_of\": 7, \"max\": 21}}",
			"{\"m\": {\"multiple_of\": 3, \"min\": 1}}", true},
		{"{\"m\": {\"multiple_of\": 7, \"max\": 20}}",
			"{\"m\": {\"multiple_of\": 3}}", true},
		{"{\"m\": {\"multiple_of\": 0.5}}",
			"{\"m\": {\"min\": 0.7, \"max\": 0.8}}", true},
		{"{\"m\": {\"in\": [1, 2]}}", "{\"m\": {\"in\": [2, 3]}}", true},
		{"{\"m\": {\"in\": [1, 2]}}", "{\"m\": {\"in\": [3]}}", false},
		{"{\"m\": {\"in\": [\"a\"]}}", "{\"m\": {\"in\": [\"b\"]}}", false},
		{"{\"m\": {\"in\": [true]}}", "{\"k\": {\"in\": [false]}}", true},
		{"{}", "{\"m\": {\"min\": 5}}", true},
	};
	for (size_t i = 0; i < KP_COUNT(rows); i++)
		ck_assert_msg(meet("traits", rows[i].a, rows[i].b) == rows[i].meets,
			"%s and %s", rows[i].a, rows[i].b);
}
END_TEST

START_TEST(devices_meet_where_one_device_passes_both)
{
	static const struct {
		const char *a, *b;
		bool meets;
	} rows[] = {
		{"{}", "{\"device\": \"gpu\"}", true},
		{"{\"device\": \"cpu\"}", "{\"device\": \"gpu\"}", false},
		{"{\"vendors\": [\"amd\", \"nvidia\"]}", "{\"vendors\": [\"nvidia\"]}",
			true},
		{"{\"vendors\": [\"amd\"]}", "{\"vendors\": [\"nvidia\"]}", false},
		{"{\"max_arch\": \"8.9\"}", "{\"min_arch\": \"9.0\"}", false},
		{"{\"max_arch\": \"9.0\"}", "{\"min_arch\": \"9.0\"}", true},
	};
	for (size_t i = 0; i < KP_COUNT(rows); i++)
		ck_assert_msg(meet("capability", rows[i].a, rows[i].b) == rows[i].meets,
			"%s and %s", rows[i].a, rows[i].b);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lint");
	TCase *tcase = tcase_create("lint");
	const TTest *const tests[] = {
		codes_of_each_table_are_in_byte_order_and_each_once,
		every_row_is_found_by_its_code_and_no_other,
		a_finding_is_kept_once_with_its_remedy,
		findings_beyond_the_most_are_counted_not_kept,
		what_a_path_names_is_taken_away_or_replaced,
		a_path_that_leads_nowhere_changes_nothing,
		a_manifest_cut_at_any_byte_has_a_finding_and_an_end,
		a_note_of_many_faults_has_them_all_and_an_end,
		conditions_on_values_meet_where_a_value_passes_both,
		devices_meet_where_one_device_passes_both,
	};
	for (size_t i = 0; i < KP_COUNT(tests); i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
