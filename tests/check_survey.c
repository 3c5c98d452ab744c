/* SPDX-License-Identifier: MIT */
/* One look at the directories sees what is there, and what must be watched. */
#include "daemon/scan/survey.h"
#include "lib/base/trust.h"
#include "tests/support/suite.h"

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char place[256], layer[300], plugins[300], absent[300];
static const char *layers[2] = {layer, absent};
static struct survey_places places = {2, layers, plugins, NULL, NULL, NULL};
static struct survey survey;
static struct kp_diag diag;

static void make_place(void)
{
	const char *tmp = getenv("TMPDIR");
	(void)snprintf(
		place, sizeof(place), "%s/kplug-survey-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(place));
	(void)snprintf(layer, sizeof(layer), "%s/layer", place);
	(void)snprintf(plugins, sizeof(plugins), "%s/plugins", place);
	(void)snprintf(absent, sizeof(absent), "%s/absent/deep", place);
	ck_assert_int_eq(mkdir(layer, 0700), 0);
	ck_assert_int_eq(mkdir(plugins, 0700), 0);
}

static void drop_place(void)
{
	char command[300];
	survey_finish(&survey);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", place);
	ck_assert_int_eq(system(command), 0);
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[400];
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static unsigned kinds_of(const char *path)
{
	for (size_t i = 0; i < survey.n_dirs; i++)
		if (strcmp(survey.dirs[i].path, path) == 0)
			return survey.dirs[i].kinds;
	return 0;
}

START_TEST(pl04_empty_directories_hold_nothing)
{
	ck_assert_int_eq(survey_read(&places, &survey, &diag), 0);
	ck_assert_uint_eq(survey.manifests.count, 0);
	ck_assert_uint_eq(survey.n_unclaimed, 0);
}
END_TEST

START_TEST(t04_a_library_without_a_manifest_is_unclaimed)
{
	put(plugins, "a.so", "");
	put(plugins, "helper.so", "");
	put(plugins, "b.so", "");
	put(plugins, "text.txt", "");
	put(plugins, ".hidden.so", "");
	put(layer, "a.json", "{\"library\": \"a.so\"}");
	put(layer, "other.json", "{\"library\": \"b.so\"}");
	ck_assert_int_eq(survey_read(&places, &survey, &diag), 0);
	ck_assert_uint_eq(survey.n_unclaimed, 1);
	ck_assert_str_eq(survey.unclaimed[0], "helper.so");
}
END_TEST

START_TEST(t04_a_library_is_claimed_through_a_link_and_by_a_masking_namesake)
{
	char link[400];
	put(plugins, "real.so", "");
	(void)snprintf(link, sizeof(link), "%s/link.so", plugins);
	ck_assert_int_eq(symlink("real.so", link), 0);
	put(plugins, "masked.so", "");
	put(layer, "l.json", "{\"library\": \"link.so\"}");
	put(layer, "masked.json", "");
	ck_assert_int_eq(survey_read(&places, &survey, &diag), 0);
	ck_assert_uint_eq(survey.n_unclaimed, 0);
}
END_TEST

START_TEST(layers_and_the_parents_of_libraries_are_watched)
{
	char elsewhere[300], text[400];
	(void)snprintf(elsewhere, sizeof(elsewhere), "%s/else", place);
	ck_assert_int_eq(mkdir(elsewhere, 0700), 0);
	(void)snprintf(text, sizeof(text), "{\"library\": \"%s/x.so\"}", elsewhere);
	put(layer, "x.json", text);
	ck_assert_int_eq(survey_read(&places, &survey, &diag), 0);
	ck_assert_uint_eq(kinds_of(layer), WATCH_MANIFESTS);
	ck_assert_uint_eq(kinds_of(plugins), WATCH_LIBRARIES);
	ck_assert_uint_eq(kinds_of(elsewhere), WATCH_LIBRARIES);
}
END_TEST

START_TEST(where_a_link_leads_is_watched_too)
{
	char elsewhere[300], target[320], link[400], real[PATH_MAX];
	(void)snprintf(elsewhere, sizeof(elsewhere), "%s/else", place);
	ck_assert_int_eq(mkdir(elsewhere, 0700), 0);
	put(elsewhere, "x.so", "");
	(void)snprintf(target, sizeof(target), "%s/x.so", elsewhere);
	(void)snprintf(link, sizeof(link), "%s/x.so", plugins);
	ck_assert_int_eq(symlink(target, link), 0);
	put(layer, "x.json", "{\"library\": \"x.so\"}");
	ck_assert_int_eq(survey_read(&places, &survey, &diag), 0);
	ck_assert_ptr_nonnull(realpath(elsewhere, real));
	ck_assert_uint_eq(kinds_of(real), WATCH_LIBRARIES);
	ck_assert_uint_eq(kinds_of(plugins), WATCH_LIBRARIES);
}
END_TEST

START_TEST(of_an_absent_directory_the_nearest_ancestor_is_watched)
{
	ck_assert_int_eq(survey_read(&places, &survey, &diag), 0);
	ck_assert_uint_eq(kinds_of(absent), 0);
	ck_assert_uint_eq(kinds_of(place), WATCH_ANCESTOR);
}
END_TEST

START_TEST(the_stamp_tells_changes_and_only_changes)
{
	char moved[320];
	(void)snprintf(moved, sizeof(moved), "%s.moved", layer);
	put(layer, "a.json", "{}");
	uint64_t before = survey_stamp(&places);
	ck_assert_uint_eq(survey_stamp(&places), before);
	put(layer, "notes.txt", "not a manifest");
	ck_assert_uint_eq(survey_stamp(&places), before);
	switch (_i) {
	case 0:
		put(layer, "a.json", "{ }");
		break;
	case 1:
		put(layer, "b.json", "{}");
		break;
	case 2:
		put(plugins, "b.so", "");
		break;
	default:
		ck_assert_int_eq(rename(layer, moved), 0);
	}
	ck_assert_uint_ne(survey_stamp(&places), before);
}
END_TEST

static const struct {
	unsigned kinds;
	const char *name;
	bool is_dir, counts;
} names[] = {
	{WATCH_MANIFESTS, "a.json", false, true},
	{WATCH_MANIFESTS, "a.txt", false, false},
	{WATCH_MANIFESTS, ".a.json.swp", false, false},
	{WATCH_MANIFESTS, "a.json~", false, false},
	{WATCH_MANIFESTS, "..data", false, true},
	{WATCH_LIBRARIES, "a.so", false, true},
	{WATCH_LIBRARIES, "libdep.so.1", false, true},
	{WATCH_LIBRARIES, ".a.so.swp", false, false},
	{WATCH_LIBRARIES, "a.so.tmp", false, false},
	{WATCH_LIBRARIES, "#a.so#", false, false},
	{WATCH_ANCESTOR, "anything", false, false},
	{WATCH_ANCESTOR, "plugins.d", true, true},
	{WATCH_ANCESTOR | WATCH_MANIFESTS, "a.json", false, true},
};

START_TEST(t14_who_may_write_on_the_way_to_a_layer_is_noticed)
{
	const struct kp_trust trust = {.owner = geteuid(), .group = KP_TRUST_NO_GROUP};
	places.trust = &trust;
	uint64_t before = survey_stamp(&places);
	ck_assert_int_eq(chmod(_i == 0 ? place : layer, 0777), 0);
	ck_assert_uint_ne(survey_stamp(&places), before);
	ck_assert_int_eq(survey_read(&places, &survey, &diag), 0);
}
END_TEST

START_TEST(t16_only_what_can_matter_is_noticed)
{
	ck_assert_msg(watch_counts(names[_i].kinds, names[_i].name, names[_i].is_dir) ==
			      names[_i].counts,
		"%s", names[_i].name);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("survey");
	TCase *tcase = tcase_create("survey");
	tcase_add_checked_fixture(tcase, make_place, drop_place);
	tcase_add_test(tcase, pl04_empty_directories_hold_nothing);
	tcase_add_test(tcase, t04_a_library_without_a_manifest_is_unclaimed);
	tcase_add_test(
		tcase, t04_a_library_is_claimed_through_a_link_and_by_a_masking_namesake);
	tcase_add_test(tcase, layers_and_the_parents_of_libraries_are_watched);
	tcase_add_test(tcase, where_a_link_leads_is_watched_too);
	tcase_add_test(tcase, of_an_absent_directory_the_nearest_ancestor_is_watched);
	tcase_add_loop_test(tcase, the_stamp_tells_changes_and_only_changes, 0, 4);
	tcase_add_loop_test(
		tcase, t14_who_may_write_on_the_way_to_a_layer_is_noticed, 0, 2);
	tcase_add_loop_test(tcase, t16_only_what_can_matter_is_noticed, 0,
		sizeof(names) / sizeof(names[0]));
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
