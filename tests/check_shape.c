/* SPDX-License-Identifier: MIT */
/* Named extents are bounded, replaced by name, and read from JSON. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/family/family.h"
#include "tests/support/suite.h"

static const char text[] =
	"{\"operation\":\"t/t\",\"revision\":1,\"dims\":[\"rows\",\"n\"],\"roles\":["
	"{\"name\":\"x\",\"direction\":\"in\",\"dims\":[\"rows\",\"n\"],\"formats\":["
	"\"f32\"]}],"
	"\"check\":{\"kind\":\"exact\"}}";

static int read_shape(const char *json, const struct kp_family *family,
	struct kp_shape *shape, struct kp_diag *diag)
{
	json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
	ck_assert_msg(value != NULL, "%s", json);
	int rc = kp_shape_from_json(value, family, shape, diag);
	json_decref(value);
	return rc;
}

START_TEST(an_extent_is_set_and_replaced_by_name)
{
	struct kp_shape shape = {0};
	ck_assert_int_eq(kp_shape_get(&shape, "m"), -1);
	ck_assert(kp_shape_set(&shape, "m", 4));
	ck_assert(kp_shape_set(&shape, "n", 0));
	ck_assert(kp_shape_set(&shape, "m", 5));
	ck_assert_uint_eq(shape.count, 2);
	ck_assert_int_eq(kp_shape_get(&shape, "m"), 5);
	ck_assert_int_eq(kp_shape_get(&shape, "n"), 0);
}
END_TEST

START_TEST(a_full_shape_takes_no_more_but_replaces)
{
	static char names[KP_FAMILY_DIMS + 1][16];
	struct kp_shape shape = {0};
	for (int i = 0; i <= KP_FAMILY_DIMS; i++) {
		snprintf(names[i], sizeof(names[i]), "d%d", i);
		ck_assert_int_eq(kp_shape_set(&shape, names[i], i), i < KP_FAMILY_DIMS);
	}
	ck_assert(kp_shape_set(&shape, "d0", 77));
	ck_assert_int_eq(kp_shape_get(&shape, "d0"), 77);
}
END_TEST

static const struct {
	const char *json;
	bool with_family;
	const char *code, *object;
} texts[] = {
	{"{}", true, NULL, NULL},
	{"{\"rows\":4,\"n\":0}", true, NULL, NULL},
	{"{\"n\":1099511627776}", true, NULL, NULL},
	{"{\"anything\":3}", false, NULL, NULL},
	{"{\"row\":4}", true, "unknown_dim", "row"},
	{"{\"k\":4}", true, "unknown_dim", "k"},
	{"{\"n\":-1}", true, "bad_extent", "n"},
	{"{\"n\":1099511627777}", true, "bad_extent", "n"},
	{"{\"n\":1.5}", true, "wrong_type", "n"},
	{"{\"n\":\"4\"}", true, "wrong_type", "n"},
	{"{\"n\":null}", false, "wrong_type", "n"},
	{"[4]", true, "wrong_type", "shape"},
	{"4", false, "wrong_type", "shape"},
};

START_TEST(a_shape_is_read_from_json_or_refused_by_dim)
{
	struct kp_family family;
	struct kp_shape shape = {0};
	struct kp_diag diag = {0};
	ck_assert_int_eq(kp_family_parse(text, strlen(text), "t", &family, NULL), 0);
	int rc = read_shape(
		texts[_i].json, texts[_i].with_family ? &family : NULL, &shape, &diag);
	ck_assert_msg(rc == (texts[_i].code ? -1 : 0), "%s", diag.message);
	if (texts[_i].code) {
		ck_assert_str_eq(diag.code, texts[_i].code);
		ck_assert_str_eq(diag.object, texts[_i].object);
		ck_assert_uint_eq(shape.count, 0);
	}
	kp_family_finish(&family);
}
END_TEST

START_TEST(the_nearest_dim_is_offered)
{
	struct kp_family family;
	struct kp_shape shape;
	struct kp_diag diag;
	ck_assert_int_eq(kp_family_parse(text, strlen(text), "t", &family, NULL), 0);
	ck_assert_int_eq(read_shape("{\"row\":1}", &family, &shape, &diag), -1);
	ck_assert_ptr_nonnull(strstr(diag.message, "did you mean rows?"));
	kp_family_finish(&family);
}
END_TEST

static const char named[] =
	"{\"operation\":\"t/t\",\"revision\":1,\"dims\":[\"h\",\"hkv\",\"d\"],"
	"\"aliases\":{\"heads\":\"h\",\"head_dim\":\"d\"},"
	"\"defaults\":{\"hkv\":\"h\",\"d\":64},\"roles\":["
	"{\"name\":\"x\",\"direction\":\"in\",\"dims\":[\"h\",\"d\"],\"formats\":["
	"\"f32\"]}],\"check\":{\"kind\":\"exact\"}}";

/* What a shape is read as: the whole of it in JSON, or a code. */
static const struct {
	const char *json, *read;
} names[] = {
	{"{}", "{\"d\":64}"},
	{"{\"h\":8}", "{\"d\":64,\"h\":8,\"hkv\":8}"},
	{"{\"heads\":8}", "{\"d\":64,\"h\":8,\"hkv\":8}"},
	{"{\"heads\":8,\"hkv\":2,\"head_dim\":0}", "{\"d\":0,\"h\":8,\"hkv\":2}"},
	{"{\"heads\":8,\"h\":8}", "repeated_dim"},
	{"{\"h\":8,\"heads\":2}", "repeated_dim"},
	{"{\"head\":8}", "unknown_dim"},
	{"{\"heads\":-1}", "bad_extent"},
};

START_TEST(a_dim_has_other_names_and_a_default)
{
	struct kp_family family;
	struct kp_shape shape;
	struct kp_diag diag = {0};
	ck_assert_msg(kp_family_parse(named, strlen(named), "t", &family, &diag) == 0,
		"%s", diag.message);
	if (read_shape(names[_i].json, &family, &shape, &diag) < 0) {
		ck_assert_str_eq(diag.code, names[_i].read);
	} else {
		json_t *value = kp_shape_json(&shape);
		char *printed = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
		ck_assert_str_eq(printed, names[_i].read);
		free(printed);
		json_decref(value);
	}
	kp_family_finish(&family);
}
END_TEST

static const char *const wrong[] = {
	"\"aliases\":{\"h\":\"d\"}",
	"\"aliases\":{\"heads\":\"q\"}",
	"\"aliases\":{\"heads\":7}",
	"\"aliases\":{\"a b\":\"h\"}",
	"\"aliases\":[]",
	"\"defaults\":{\"q\":\"h\"}",
	"\"defaults\":{\"h\":\"h\"}",
	"\"defaults\":{\"h\":\"q\"}",
	"\"defaults\":{\"h\":-1}",
	"\"defaults\":{\"h\":1.5}",
	"\"defaults\":{\"h\":1099511627777}",
};

START_TEST(names_and_defaults_of_no_dim_are_refused)
{
	char all[512];
	struct kp_family family;
	struct kp_diag diag = {0};
	(void)snprintf(all, sizeof(all),
		"{\"operation\":\"t/t\",\"revision\":1,\"dims\":[\"h\",\"d\"],%s,"
		"\"roles\":[{\"name\":\"x\",\"direction\":\"in\",\"dims\":[\"h\"],"
		"\"formats\":[\"f32\"]}],\"check\":{\"kind\":\"exact\"}}",
		wrong[_i]);
	ck_assert_int_eq(kp_family_parse(all, strlen(all), "t", &family, &diag), -1);
	ck_assert_ptr_nonnull(
		strstr(diag.object, strstr(wrong[_i], "alias") ? "aliases" : "defaults"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shape");
	TCase *tcase = tcase_create("shape");
	tcase_add_test(tcase, an_extent_is_set_and_replaced_by_name);
	tcase_add_test(tcase, a_full_shape_takes_no_more_but_replaces);
	tcase_add_loop_test(tcase, a_shape_is_read_from_json_or_refused_by_dim, 0,
		(int)(sizeof(texts) / sizeof(texts[0])));
	tcase_add_test(tcase, the_nearest_dim_is_offered);
	tcase_add_loop_test(tcase, a_dim_has_other_names_and_a_default, 0,
		(int)(sizeof(names) / sizeof(names[0])));
	tcase_add_loop_test(tcase, names_and_defaults_of_no_dim_are_refused, 0,
		(int)(sizeof(wrong) / sizeof(wrong[0])));
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
