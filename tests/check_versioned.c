/* SPDX-License-Identifier: MIT */
/* Formats by name and number: read, refused as newer, or not known at all. */
#include <check.h>
#include <jansson.h>
#include <string.h>

#include "lib/base/versioned.h"
#include "tests/support/suite.h"

static const struct {
	const char *text, *code; /* NULL: it is read */
} rows[] = {
	{"{\"format\": \"kplug-some/1\"}", NULL},
	{"{\"format\": \"kplug-some/2\"}", NULL},
	{"{\"format\": \"kplug-some/3\"}", "newer_format"},
	{"{\"format\": \"kplug-some/10\"}", "newer_format"},
	{"{\"format\": \"kplug-some/0\"}", "bad_some"},
	{"{\"format\": \"kplug-some/-1\"}", "bad_some"},
	{"{\"format\": \"kplug-some/x\"}", "bad_some"},
	{"{\"format\": \"kplug-some/2x\"}", "bad_some"},
	{"{\"format\": \"kplug-some/\"}", "bad_some"},
	{"{\"format\": \"kplug-other/1\"}", "bad_some"},
	{"{\"format\": \"\"}", "bad_some"},
	{"{\"format\": 1}", "bad_some"},
	{"{}", "bad_some"},
	{"[]", "bad_some"},
};

START_TEST(a_format_is_read_or_refused_by_its_number)
{
	struct kp_diag diag;
	json_t *root = json_loads(rows[_i].text, 0, NULL);

	ck_assert_ptr_nonnull(root);
	int result = kp_versioned_check(root, "kplug-some/2", "bad_some", &diag);
	ck_assert_int_eq(result, rows[_i].code ? -1 : 0);
	if (rows[_i].code) {
		ck_assert_str_eq(diag.code, rows[_i].code);
		ck_assert_str_eq(diag.object, "format");
		ck_assert_ptr_nonnull(strstr(diag.message, "kplug-some/2"));
	}
	json_decref(root);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("versioned");
	TCase *formats = tcase_create("formats");

	tcase_add_loop_test(formats, a_format_is_read_or_refused_by_its_number, 0,
		(int)(sizeof(rows) / sizeof(rows[0])));
	suite_add_tcase(suite, formats);
	return suite_run(suite);
}
