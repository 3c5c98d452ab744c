/* SPDX-License-Identifier: MIT */
/* Versions and ranges: what is read, how they compare, what a host outside gets told. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/version.h"
#include "tests/support/suite.h"

static struct kp_version version(const char *text)
{
	struct kp_version v;
	struct kp_diag diag;
	ck_assert_msg(kp_version_parse(text, &v, &diag) == 0, "%s", diag.message);
	return v;
}

START_TEST(v01_valid_versions_print_as_they_were)
{
	static const char *const texts[] = {"0.0.0", "1.2.3", "10.20.30", "1.0.0-rc.1",
		"1.0.0-alpha+001", "1.0.0+20130313144700", "1.0.0-0A.is.legal",
		"1.0.0-x-y-z.--", "999999999.0.0"};
	char out[160];
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct kp_version v = version(texts[i]);
		ck_assert_str_eq(kp_version_print(&v, out, sizeof(out)), texts[i]);
	}
}
END_TEST

static const struct {
	const char *text, *part;
} bad[] = {
	{"+1.2.3", "major version starts with a sign"},
	{"-1.2.3", "major version starts with a sign"},
	{"1.+2.3", "minor version starts with a sign"},
	{"01.2.3", "major version has a leading zero"},
	{"1.02.3", "minor version has a leading zero"},
	{"1.2.03", "patch version has a leading zero"},
	{"1.2", "patch version is missing"},
	{"1", "minor version is missing"},
	{"", "major version is missing"},
	{"1.2.", "patch version is missing"},
	{"1..3", "minor version is missing"},
	{"1.2.3.4", "fourth number"},
	{"v1.2.3", "major version is not a number"},
	{"1.x.3", "minor version is not a number"},
	{"1.2.3a", "patch version is not a number"},
	{" 1.2.3", "major version is not a number"},
	{"1.2.3 ", "patch version is not a number"},
	{"4294967296.0.0", "major version is above"},
	{"1.2.3-", "pre-release has an empty identifier"},
	{"1.2.3-a..b", "pre-release has an empty identifier"},
	{"1.2.3-a.", "pre-release has an empty identifier"},
	{"1.2.3-01", "pre-release has a number with a leading zero"},
	{"1.2.3-a_b", "pre-release has a character"},
	{"1.2.3+", "build has an empty identifier"},
	{"1.2.3+a+b", "build has a character"},
	{"1.2.3-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"pre-release is longer"},
};

START_TEST(v01_wrong_version_names_the_part)
{
	struct kp_version v = {.major = 77};
	struct kp_diag diag;
	ck_assert_int_eq(kp_version_parse(bad[_i].text, &v, &diag), -1);
	ck_assert_str_eq(diag.code, "bad_version");
	ck_assert_msg(strstr(diag.message, bad[_i].part) != NULL, "%s", diag.message);
	ck_assert_str_eq(diag.object, bad[_i].text);
	ck_assert_uint_eq(v.major, 77);
}
END_TEST

START_TEST(v01_overlong_version_is_refused)
{
	char text[4000];
	struct kp_version v;
	struct kp_diag diag;
	memset(text, '1', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_assert_int_eq(kp_version_parse(text, &v, &diag), -1);
	ck_assert_str_eq(diag.code, "bad_version");
}
END_TEST

START_TEST(precedence_is_that_of_semver)
{
	static const char *const ordered[] = {"0.0.9", "0.1.0-rc.1", "0.1.0", "1.0.0-0",
		"1.0.0-2", "1.0.0-11", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta",
		"1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0",
		"1.0.1", "1.9.0", "1.10.0", "2.0.0"};
	size_t n = sizeof(ordered) / sizeof(ordered[0]);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			struct kp_version a = version(ordered[i]);
			struct kp_version b = version(ordered[j]);
			int order = kp_version_compare(&a, &b);
			ck_assert_msg((i < j) == (order < 0) && (i > j) == (order > 0),
				"%s against %s", ordered[i], ordered[j]);
		}
}
END_TEST

START_TEST(build_metadata_has_no_part_in_precedence)
{
	struct kp_version a = version("1.0.0+a");
	struct kp_version b = version("1.0.0+b");
	ck_assert_int_eq(kp_version_compare(&a, &b), 0);
}
END_TEST

/* NULL: inside the range. */
static const char *judged(
	const char *min, const char *max, const char *host, struct kp_diag *diag)
{
	struct kp_version_range range;
	struct kp_version own = version(host);
	ck_assert_msg(
		kp_version_range_parse(min, max, &range, diag) == 0, "%s", diag->message);
	return kp_version_range_check(&range, &own, diag) < 0 ? diag->code : NULL;
}

static const struct {
	const char *min, *max, *host, *code;
} hosts[] = {
	{"1.2.0", "2.0.0", "1.1.9", "host_too_old"},
	{"1.2.0", "2.0.0", "1.2.0", NULL},
	{"1.2.0", "2.0.0", "1.9.9", NULL},
	{"1.2.0", "2.0.0", "2.0.0", "host_too_new"},
	{"1.2.0", "2.0.0", "3.0.0", "host_too_new"},
};

START_TEST(v02_host_is_judged_against_the_range)
{
	struct kp_diag diag;
	const char *code = judged(hosts[_i].min, hosts[_i].max, hosts[_i].host, &diag);
	if (!hosts[_i].code) {
		ck_assert_ptr_null(code);
		return;
	}
	ck_assert_str_eq(code, hosts[_i].code);
	ck_assert_ptr_nonnull(strstr(diag.message, hosts[_i].min));
	ck_assert_ptr_nonnull(strstr(diag.message, hosts[_i].max));
	ck_assert_ptr_nonnull(strstr(diag.message, hosts[_i].host));
	ck_assert_ptr_nonnull(strstr(diag.message, "install"));
}
END_TEST

static const struct {
	const char *min, *last, *first_out;
} open_ended[] = {
	{"1.2.3", "1.99.0", "2.0.0"},
	{"0.3.1", "0.3.99", "0.4.0"},
	{"0.0.0", "0.0.5", "0.1.0"},
	{"2.0.0-rc.1", "2.5.0", "3.0.0"},
};

START_TEST(v03_without_max_the_next_incompatible_version_ends_the_range)
{
	struct kp_diag diag;
	ck_assert_ptr_null(judged(open_ended[_i].min, NULL, open_ended[_i].last, &diag));
	ck_assert_str_eq(
		judged(open_ended[_i].min, NULL, open_ended[_i].first_out, &diag),
		"host_too_new");
}
END_TEST

START_TEST(v03_without_min_and_max_every_host_fits)
{
	struct kp_diag diag;
	ck_assert_ptr_null(judged(NULL, NULL, "0.0.0", &diag));
	ck_assert_ptr_null(judged(NULL, NULL, "0.1.0", &diag));
	ck_assert_ptr_null(judged(NULL, NULL, "99.1.0", &diag));
	ck_assert_ptr_null(judged(NULL, "1.0.0", "0.9.0", &diag));
}
END_TEST

static const struct {
	const char *min, *max;
} empty[] = {
	{"2.0.0", "1.0.0"}, {"1.0.0", "1.0.0"}, {"1.0.0", "1.0.0-rc.1"}, {NULL, "0.0.0"}};

START_TEST(v04_min_not_below_max_is_an_error)
{
	struct kp_version_range range;
	struct kp_diag diag;
	ck_assert_int_eq(
		kp_version_range_parse(empty[_i].min, empty[_i].max, &range, &diag), -1);
	ck_assert_str_eq(diag.code, "empty_range");
	ck_assert_ptr_nonnull(strstr(diag.message, empty[_i].max));
}
END_TEST

START_TEST(v07_pre_release_host_counts_by_semver_order)
{
	struct kp_diag diag;
	ck_assert_str_eq(judged("0.1.0", "0.2.0", "0.1.0-rc.1", &diag), "host_too_old");
	ck_assert_ptr_null(judged("0.1.0", "0.2.0", "0.2.0-rc.1", &diag));
	ck_assert_ptr_null(judged("0.1.0-rc.1", "0.2.0", "0.1.0-rc.2", &diag));
	ck_assert_str_eq(
		judged("0.1.0", "0.2.0-rc.1", "0.2.0-rc.1", &diag), "host_too_new");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("version");
	tcase_add_test(tcase, v01_valid_versions_print_as_they_were);
	tcase_add_loop_test(
		tcase, v01_wrong_version_names_the_part, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(tcase, v01_overlong_version_is_refused);
	tcase_add_test(tcase, precedence_is_that_of_semver);
	tcase_add_test(tcase, build_metadata_has_no_part_in_precedence);
	tcase_add_loop_test(tcase, v02_host_is_judged_against_the_range, 0,
		sizeof(hosts) / sizeof(hosts[0]));
	tcase_add_loop_test(tcase,
		v03_without_max_the_next_incompatible_version_ends_the_range, 0,
		sizeof(open_ended) / sizeof(open_ended[0]));
	tcase_add_test(tcase, v03_without_min_and_max_every_host_fits);
	tcase_add_loop_test(tcase, v04_min_not_below_max_is_an_error, 0,
		sizeof(empty) / sizeof(empty[0]));
	tcase_add_test(tcase, v07_pre_release_host_counts_by_semver_order);
	Suite *suite = suite_create("version");
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
