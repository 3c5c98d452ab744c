/* SPDX-License-Identifier: MIT */
/* Families are read strictly, with the place of what is wrong; signatures and work
 * follow. */
#include "lib/family/family.h"
#include "tests/support/families.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A family that uses every member; a line each, so that places can be told. */
static const char full[] =
	"{\"operation\": \"attn/decode\",\n"
	" \"revision\": 2, \"description\": \"one\",\n"
	" \"dims\": [\"b\", \"h\", \"d\", \"t\"],\n"
	" \"roles\": [\n"
	"  {\"name\": \"q\", \"direction\": \"in\", \"dims\": [\"b\", \"h\", \"d\"],\n"
	"   \"key\": true, \"formats\": [\"f32\", \"dense:bf16\"], \"fill\": {\"kind\": "
	"\"normal\", "
	"\"scale\": 0.5}},\n"
	"  {\"name\": \"kv\", \"direction\": \"in\", \"dims\": [\"t\", 2, \"d\"], "
	"\"key\": true,\n"
	"   \"formats\": [\"f32\"], \"distinct\": [[2, \"t\", \"d\"]], \"space\": "
	"\"either\"},\n"
	"  {\"name\": \"lens\", \"direction\": \"in\", \"dims\": [\"b\"], \"formats\": "
	"[\"i32\"],\n"
	"   \"fill\": {\"kind\": \"lens\", \"min\": 0, \"max\": \"t\", \"total\": "
	"\"t\"}},\n"
	"  {\"name\": \"bias\", \"direction\": \"in\", \"dims\": [\"h\"], \"key\": "
	"true,\n"
	"   \"formats\": [\"f32\"], \"optional\": true, \"revision\": 2},\n"
	"  {\"name\": \"out\", \"direction\": \"out\", \"dims\": [\"b\", \"h\", \"d\"],\n"
	"   \"key\": true, \"formats\": [\"f32\", \"bf16\"], \"alias\": \"q\"}],\n"
	" \"attributes\": [{\"name\": \"scale\", \"type\": \"float\", \"default\": 1},\n"
	"  {\"name\": \"causal\", \"type\": \"bool\", \"default\": true, \"revision\": "
	"2}],\n"
	" \"derived\": {\"per\": {\"times\": [\"t\", 4], \"over\": [\"b\"]}},\n"
	" \"traits\": {\"causal\": {\"kind\": \"bool\", \"default\": false},\n"
	"  \"mode\": {\"kind\": \"text\", \"default\": \"plain\"},\n"
	"  \"head_dim\": {\"kind\": \"int\", \"dim\": \"d\"},\n"
	"  \"load\": {\"kind\": \"number\", \"dim\": \"per\"}},\n"
	" \"work\": {\"flops\": [[4, \"t\", \"h\", \"d\"], [\"b\"]]},\n"
	" \"signature\": \"q=f32,out=dense:f32,kv=f32\",\n"
	" \"shapes\": {\"default\": [{\"b\": 2, \"h\": 3, \"d\": 8, \"t\": 10}],\n"
	"  \"edge\": [{\"b\": 0, \"h\": 1, \"d\": 1, \"t\": 0}]},\n"
	" \"independent\": [\"b\"],\n"
	" \"check\": {\"kind\": \"norm\", \"tolerance\": {\"f32\": 1e-5, \"bf16\": "
	"1e-2}},\n"
	" \"empty\": {\"out\": 0},\n"
	" \"reference\": \"reference/attn_decode\"}\n";

static void parse(struct kp_family *family)
{
	struct kp_diag diag;
	int rc = kp_family_parse(full, strlen(full), "attn.decode.json", family, &diag);
	ck_assert_msg(rc == 0, "%s", diag.message);
}

START_TEST(everything_in_the_text_is_in_the_family)
{
	struct kp_family f;
	parse(&f);
	ck_assert_str_eq(f.operation, "attn/decode");
	ck_assert_uint_eq(f.revision, 2);
	ck_assert_uint_eq(f.n_roles, 5);
	const struct kp_role *q = kp_family_role(&f, "q");
	ck_assert_uint_eq(q->rank, 3);
	ck_assert_str_eq(q->dims[2].name, "d");
	ck_assert_str_eq(q->formats.items[1], "bf16");
	ck_assert_str_eq(q->fill.kind, "normal");
	ck_assert_double_eq(
		json_number_value(json_object_get(q->fill.parameters, "scale")), 0.5);
	const struct kp_role *kv = kp_family_role(&f, "kv");
	ck_assert_ptr_null(kv->dims[1].name);
	ck_assert_double_eq(kv->dims[1].number, 2);
	ck_assert_int_eq(kv->space, KP_SPACE_EITHER);
	ck_assert_str_eq(kv->fill.kind, "normal");
	ck_assert(kp_family_role(&f, "bias")->optional);
	ck_assert_uint_eq(kp_family_role(&f, "bias")->revision, 2);
	ck_assert_str_eq(kp_family_role(&f, "out")->alias, "q");
	ck_assert_int_eq(kp_family_role(&f, "out")->direction, KP_OUT);
	ck_assert_ptr_null(kp_family_role(&f, "nothing"));
	ck_assert_double_eq(f.attributes[0].preset, 1);
	ck_assert_int_eq(f.attributes[1].type, KP_ATTRIBUTE_BOOL);
	ck_assert_double_eq(f.attributes[1].preset, 1);
	ck_assert_str_eq(kp_family_trait(&f, "head_dim")->dim, "d");
	ck_assert(kp_family_trait(&f, "head_dim")->integer);
	ck_assert(!kp_family_trait(&f, "load")->integer);
	ck_assert(kp_family_trait(&f, "causal")->has_preset);
	ck_assert_str_eq(kp_family_trait(&f, "mode")->preset.text, "plain");
	ck_assert_str_eq(f.signature, "kv=f32,out=f32,q=f32");
	ck_assert_str_eq(f.independent.items[0], "b");
	ck_assert_int_eq(f.check, KP_CHECK_NORM);
	ck_assert_uint_eq(strlen(f.digest), 16);
	kp_family_finish(&f);
}
END_TEST

START_TEST(values_and_work_are_computed_from_a_shape)
{
	struct kp_family f;
	struct kp_shape shape = {0};
	double value = -1;
	parse(&f);
	ck_assert_int_eq(kp_shape_from_json(
				 json_array_get(json_object_get(f.shapes, "default"), 0),
				 &f, &shape, NULL),
		0);
	ck_assert(kp_family_value(&f, &shape, "d", &value));
	ck_assert_double_eq(value, 8);
	ck_assert(kp_family_value(&f, &shape, "per", &value));
	ck_assert_double_eq(value, 20);
	ck_assert(!kp_family_value(&f, &shape, "nothing", &value));
	ck_assert_double_eq(kp_family_work(&f, &shape, &f.flops), 4.0 * 10 * 3 * 8 + 2);
	ck_assert_double_eq(kp_family_touched(&f, &shape, kp_family_role(&f, "kv")), 160);
	ck_assert_double_eq(kp_family_touched(&f, &shape, kp_family_role(&f, "q")), 48);
	ck_assert(kp_shape_set(&shape, "b", 0));
	ck_assert(!kp_family_value(&f, &shape, "per", &value));
	struct kp_shape part = {0};
	ck_assert(kp_shape_set(&part, "t", 5));
	ck_assert(!kp_family_value(&f, &part, "per", &value));
	ck_assert_double_eq(kp_family_work(&f, &part, &f.flops), 0);
	kp_family_finish(&f);
}
END_TEST

/* One change of the text, and what must be said of it. */
static const struct {
	const char *from, *to, *code, *object;
	unsigned line;
} wrong[] = {
	{"\"revision\": 2, ", "", "missing_key", "revision", 1},
	{"\"revision\": 2, ", "\"revision\": 0, ", "bad_family", "revision", 2},
	{"\"revision\": 2, ", "\"revision\": \"2\", ", "wrong_type", "revision", 2},
	{"\"description\"", "\"descripton\"", "unknown_key", "descripton", 2},
	{"attn/decode\"", "attn\"", "bad_family", "operation", 1},
	{"\"t\"],\n", "\"t\", \"b\"],\n", "bad_family", "dims[4]", 3},
	{"\"t\"],\n", "\"t u\"],\n", "bad_family", "dims[3]", 3},
	{"[\"b\", \"h\", \"d\"],\n   \"key\"", "[\"b\", \"H\", \"d\"],\n   \"key\"",
		"unknown_dim", "roles[0].dims[1]", 5},
	{"[\"t\", 2, \"d\"]", "[\"t\", 0, \"d\"]", "bad_family", "roles[1].dims", 7},
	{"[\"t\", 2, \"d\"]", "[\"t\", 2.5, \"d\"]", "bad_family", "roles[1].dims", 7},
	{"[\"t\", 2, \"d\"]", "[1,1,1,1,1,1,1,1,1]", "too_many", "roles[1].dims", 7},
	{"[\"t\", 2, \"d\"]", "[\"per\"]", "unknown_dim", "roles[1].dims[0]", 7},
	{"\"direction\": \"in\"", "\"direction\": \"input\"", "bad_family",
		"roles[0].direction", 5},
	{"\"either\"", "\"space\"", "bad_family", "roles[1].space", 8},
	{"\"name\": \"kv\"", "\"name\": \"q\"", "bad_family", "roles[1]", 7},
	{"\"dense:bf16\"", "\"bf61\"", "bad_family", "roles[0].formats[1]", 6},
	{"\"formats\": [\"i32\"]", "\"formats\": []", "bad_family", "roles[2].formats",
		9},
	{"\"kind\": \"normal\"", "\"kind\": \"gauss\"", "bad_family", "roles[0].fill", 6},
	{"\"kind\": \"normal\"", "\"kind\": \"lens\"", "bad_family", "roles[0].fill", 6},
	{"\"scale\": 0.5", "\"sacle\": 0.5", "unknown_key", "roles[0].fill.sacle", 6},
	{"\"max\": \"t\"", "\"max\": \"tt\"", "unknown_dim", "roles[2].fill.max", 10},
	{"\"min\": 0, ", "", "missing_key", "roles[2].fill.min", 10},
	{"\"formats\": [\"i32\"],\n   \"fill\"", "\"formats\": [\"i32\"],\n   \"full\"",
		"unknown_key", "roles[2].full", 10},
	{"\"alias\": \"q\"", "\"alias\": \"x\"", "bad_family", "roles[4]", 13},
	{"\"alias\": \"q\"", "\"alias\": \"out\"", "bad_family", "roles[4]", 13},
	{"\"revision\": 2},\n  {\"name\": \"out\"",
		"\"revision\": 3},\n  {\"name\": \"out\"", "bad_family", "roles[3]", 11},
	{"\"type\": \"float\"", "\"type\": \"real\"", "bad_family", "attributes[0].type",
		15},
	{"\"type\": \"bool\", \"default\": true", "\"type\": \"bool\", \"default\": 1",
		"wrong_type", "attributes[1].default", 16},
	{"\"name\": \"causal\"", "\"name\": \"scale\"", "bad_family", "attributes[1]",
		16},
	{"[\"t\", 4], \"over\"", "[\"t\", \"per\"], \"over\"", "unknown_dim",
		"derived.per.times[1]", 17},
	{"{\"per\":", "{\"b\":", "bad_family", "derived.b", 17},
	{"\"kind\": \"bool\", \"default\": false", "\"kind\": \"bool\", \"default\": 0",
		"wrong_type", "traits.causal.default", 18},
	{"\"kind\": \"text\"", "\"kind\": \"string\"", "bad_family", "traits.mode", 19},
	{"\"kind\": \"int\", \"dim\": \"d\"", "\"kind\": \"int\", \"dim\": \"dd\"",
		"unknown_dim", "traits.head_dim.dim", 20},
	{"\"kind\": \"int\", \"dim\": \"d\"", "\"kind\": \"bool\", \"dim\": \"d\"",
		"bad_family", "traits.head_dim", 20},
	{"\"dim\": \"d\"", "\"dim\": \"d\", \"default\": 3", "bad_family",
		"traits.head_dim", 20},
	{"{\"flops\": [[4, \"t\"", "{\"flops\": [[4, \"T\"", "unknown_dim",
		"work.flops[0][1]", 22},
	{"{\"flops\"", "{\"flop\"", "unknown_key", "work.flop", 22},
	{"\"q=f32,out", "\"q=f32,lens=i32,out", "bad_family", "signature", 23},
	{"\"q=f32,out", "\"q=f64,out", "bad_family", "signature", 23},
	{",kv=f32", "", "bad_family", "signature", 23},
	{"\"d\": 8, ", "", "bad_family", "shapes.default[0]", 24},
	{"\"d\": 8, ", "\"D\": 8, ", "unknown_dim", "shapes.default[0]", 24},
	{"\"d\": 8, ", "\"d\": -8, ", "bad_extent", "shapes.default[0]", 24},
	{"\"independent\": [\"b\"]", "\"independent\": [\"z\"]", "unknown_dim",
		"independent", 26},
	{"\"kind\": \"norm\"", "\"kind\": \"distribution\"", "bad_family", "check.kind",
		27},
	{"\"kind\": \"norm\"", "\"kind\": \"exact\"", "bad_family", "check.tolerance",
		27},
	{", \"bf16\": 1e-2", "", "bad_family", "check", 27},
	{"\"bf16\": 1e-2", "\"bf16\": 0", "bad_family", "check.tolerance.bf16", 27},
	{"\"bf16\": 1e-2", "\"bf16\": 1, \"fp8\": 1", "bad_family", "check.tolerance.fp8",
		27},
	{"\"empty\": {\"out\"", "\"empty\": {\"q\"", "bad_family", "empty.q", 28},
	{"reference/attn_decode", "attn_decode", "bad_family", "reference", 29},
	{"\"revision\": 2,", "\"revision\": 2 2,", "json_syntax", NULL, 2},
	{"\"revision\": 2,", "\"revision\": 2, \"revision\": 2,", "json_duplicate_key",
		NULL, 2},
};

/* A copy of the text with one change; the caller's. */
static char *changed(const char *from, const char *to)
{
	const char *at = strstr(full, from);
	char *text = NULL;
	ck_assert_msg(at != NULL, "the text has no %s", from);
	ck_assert_int_gt(asprintf(&text, "%.*s%s%s", (int)(at - full), full, to,
				 at + strlen(from)),
		0);
	return text;
}

START_TEST(a_wrong_family_is_refused_with_path_and_place)
{
	char *text = changed(wrong[_i].from, wrong[_i].to);
	struct kp_family f;
	struct kp_diag diag;
	ck_assert_int_eq(kp_family_parse(text, strlen(text), "f.json", &f, &diag), -1);
	ck_assert_msg(strcmp(diag.code, wrong[_i].code) == 0, "%s: %s", diag.code,
		diag.message);
	if (wrong[_i].object)
		ck_assert_str_eq(diag.object, wrong[_i].object);
	ck_assert_str_eq(diag.file, "f.json");
	ck_assert_msg(diag.line == wrong[_i].line, "%u: %s", diag.line, diag.message);
	ck_assert_uint_ge(diag.column, 1);
	free(text);
}
END_TEST

/* Every byte left out, doubled or replaced in turn: read, or refused with a place. */
START_TEST(no_change_of_a_byte_is_more_than_a_refusal)
{
	static const char other[] = "0\"{]\\\x80";
	char text[sizeof(full) + 1];
	size_t length = strlen(full);
	size_t refused = 0;
	for (size_t at = 0; at < length; at++) {
		struct kp_family f;
		struct kp_diag diag = {0};
		int step = _i < 2 ? 1 - 2 * _i : 0; /* longer, shorter, as long */
		memcpy(text, full, at);
		text[at] = _i < 2 ? full[at] : other[_i - 2];
		memcpy(text + at + (_i != 1), full + at + (_i != 0),
			length - at - (_i != 0));
		if (kp_family_parse(text, length + (size_t)step, "f", &f, &diag) == 0) {
			kp_family_finish(&f);
			continue;
		}
		ck_assert_ptr_nonnull(diag.code);
		ck_assert_str_eq(diag.file, "f");
		ck_assert(diag.message[0]);
		refused++;
	}
	ck_assert_uint_gt(refused, length / 2);
}
END_TEST

static const struct {
	const char *signature, *code, *object;
} signatures[] = {
	{"q=f32,kv=f32,out=f32", NULL, NULL},
	{"out=bf16,q=f32,kv=f32,bias=f32", NULL, NULL},
	{"q=f32,out=f32", "missing_role", "kv"},
	{"q=f32,kv=f32,out=f32,lens=i32", "unknown_role", "lens"},
	{"q=f32,kv=f32,outt=f32", "unknown_role", "outt"},
	{"q=f16,kv=f32,out=f32", "format_not_allowed", "q"},
};

START_TEST(a_signature_is_held_against_the_roles)
{
	struct kp_family f;
	struct kp_signature signature;
	struct kp_diag diag;
	parse(&f);
	ck_assert_int_eq(
		kp_signature_parse(signatures[_i].signature, &signature, &diag), 0);
	int rc = kp_family_check_signature(&f, &signature, &diag);
	ck_assert_int_eq(rc, signatures[_i].code ? -1 : 0);
	if (signatures[_i].code) {
		ck_assert_str_eq(diag.code, signatures[_i].code);
		ck_assert_str_eq(diag.object, signatures[_i].object);
	}
	kp_family_finish(&f);
}
END_TEST

START_TEST(the_nearest_role_is_offered)
{
	struct kp_family f;
	struct kp_signature signature;
	struct kp_diag diag;
	parse(&f);
	ck_assert_int_eq(
		kp_signature_parse("q=f32,kv=f32,outt=f32", &signature, NULL), 0);
	ck_assert_int_eq(kp_family_check_signature(&f, &signature, &diag), -1);
	ck_assert_ptr_nonnull(strstr(diag.message, "did you mean out?"));
	kp_family_finish(&f);
}
END_TEST

START_TEST(every_family_that_is_shipped_is_read)
{
	struct kp_families families;

	families_read(&families);
	ck_assert_uint_ge(families.count, 6);
	for (size_t i = 1; i < families.count; i++)
		ck_assert_str_lt(
			families.items[i - 1].operation, families.items[i].operation);
	for (size_t i = 0; i < families.count; i++) {
		ck_assert_ptr_eq(kp_families_find(&families, families.items[i].operation),
			&families.items[i]);
		ck_assert_ptr_nonnull(families.items[i].signature);
		ck_assert_ptr_nonnull(families.items[i].reference);
	}
	ck_assert_ptr_nonnull(kp_families_find(&families, "gemm/mm"));
	ck_assert_ptr_null(kp_families_find(&families, "gemm/m"));
	kp_families_finish(&families);
}
END_TEST

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

START_TEST(a_wrong_file_leaves_the_others_alone)
{
	const char *tmp = getenv("TMPDIR");
	char dir[256];
	char path[512];
	static const char *const names[] = {"attn.decode.json", "broken.json",
		"wrong.name.json", ".hidden.json", "notes.txt"};
	struct kp_families families;
	struct kp_diags problems = {0};
	snprintf(dir, sizeof(dir), "%s/families-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	write_file(dir, names[0], full);
	write_file(dir, names[1], "{");
	write_file(dir, names[2], full);
	write_file(dir, names[3], "{");
	write_file(dir, names[4], "{");
	ck_assert_int_eq(kp_families_read(dir, &families, &problems), 0);
	ck_assert_uint_eq(families.count, 1);
	ck_assert_uint_eq(problems.count, 2);
	ck_assert_str_eq(problems.items[0].code, "json_syntax");
	ck_assert_ptr_nonnull(strstr(problems.items[1].message, "attn.decode.json"));
	kp_families_finish(&families);
	kp_diags_finish(&problems);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}
END_TEST

START_TEST(a_missing_directory_is_a_problem)
{
	struct kp_families families;
	struct kp_diags problems = {0};
	ck_assert_int_eq(
		kp_families_read("/nonexistent/families", &families, &problems), 0);
	ck_assert_uint_eq(families.count, 0);
	ck_assert_uint_eq(problems.count, 1);
	ck_assert_str_eq(problems.items[0].code, "missing_directory");
	kp_families_finish(&families);
	kp_diags_finish(&problems);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("family");
	TCase *tcase = tcase_create("family");
	tcase_add_test(tcase, everything_in_the_text_is_in_the_family);
	tcase_add_test(tcase, values_and_work_are_computed_from_a_shape);
	tcase_add_loop_test(tcase, a_wrong_family_is_refused_with_path_and_place, 0,
		(int)(sizeof(wrong) / sizeof(wrong[0])));
	tcase_add_loop_test(tcase, no_change_of_a_byte_is_more_than_a_refusal, 0, 8);
	tcase_add_loop_test(tcase, a_signature_is_held_against_the_roles, 0,
		(int)(sizeof(signatures) / sizeof(signatures[0])));
	tcase_add_test(tcase, the_nearest_role_is_offered);
	tcase_add_test(tcase, every_family_that_is_shipped_is_read);
	tcase_add_test(tcase, a_wrong_file_leaves_the_others_alone);
	tcase_add_test(tcase, a_missing_directory_is_a_problem);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
