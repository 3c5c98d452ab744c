/* SPDX-License-Identifier: MIT */
/* What a system's daemon takes: nothing that others may change, nothing that is not
 * public. */
#include "tests/support/played_workers.h"
#include "tests/support/suite.h"

#include <dirent.h>

enum { STRANGER = 12345 };

static char path[600];

/* A path below the plugin directory; valid until the next call. */
static const char *at(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", plugin_dir, name);
	return path;
}

/* Only root can give files away. */
static bool give_away(const char *name)
{
	if (chown(at(name), STRANGER, (gid_t)-1) == 0)
		return true;
	suite_skip("a file of another user", "only root can give one away");
	return false;
}

static void change(const char *name, mode_t mode)
{
	ck_assert_int_eq(chmod(at(name), mode), 0);
}

static void expect_distrust(const char *code, const char *object, const char *words)
{
	expect(KP_STATE_REJECTED, code);
	expect_said(object);
	expect_said(words);
	ck_assert_ptr_null(verdict.stored);
}

START_TEST(t14_library_of_root_or_ours_is_taken)
{
	library("x.so", "bytes");
	serves_all = true;
	once_more("x.so");
	expect(KP_STATE_ACTIVE, "");
}
END_TEST

static const mode_t bad_modes[] = {0664, 0646, 0777, 0666};

START_TEST(t14_library_that_others_may_write_is_rejected_with_its_mode)
{
	char mode[8];
	library("x.so", "bytes");
	change("x.so", bad_modes[_i]);
	serves_all = true;
	once_more("x.so");
	snprintf(mode, sizeof(mode), "%04o", (unsigned)bad_modes[_i]);
	expect_distrust("writable_by_others", "x.so", mode);
}
END_TEST

START_TEST(t14_library_of_another_user_is_rejected_with_the_uid)
{
	library("x.so", "bytes");
	if (!give_away("x.so"))
		return;
	serves_all = true;
	once_more("x.so");
	expect_distrust("untrusted_owner", "x.so", "12345");
}
END_TEST

START_TEST(t14_directory_above_that_others_may_write_counts)
{
	library("deep/down/x.so", "bytes");
	change("deep", 0777);
	serves_all = true;
	once_more("deep/down/x.so");
	expect_distrust("writable_by_others", "/deep ", "0777");
}
END_TEST

START_TEST(t14_directory_above_of_another_user_counts)
{
	library("deep/down/x.so", "bytes");
	if (!give_away("deep"))
		return;
	serves_all = true;
	once_more("deep/down/x.so");
	expect_distrust("untrusted_owner", "/deep ", "12345");
}
END_TEST

START_TEST(t14_library_beside_it_counts)
{
	library("x.so", "bytes");
	library("liby.so", "bytes");
	change("liby.so", 0666);
	bring("$ORIGIN");
	serves_all = true;
	once_more("x.so");
	expect_distrust("writable_by_others", "liby.so", "0666");
}
END_TEST

START_TEST(t14_library_elsewhere_that_it_needs_counts)
{
	library("x.so", "bytes");
	library("elsewhere/libz.so", "bytes");
	change("elsewhere/libz.so", 0666);
	json_array_append_new(
		workers.needs, json_pack("{s:s, s:s, s:[]}", "name", "libz.so", "path",
				       path, "searched"));
	serves_all = true;
	once_more("x.so");
	expect_distrust("writable_by_others", "libz.so", "0666");
}
END_TEST

START_TEST(t14_a_daemon_of_one_user_asks_as_well)
{
	library("deep/x.so", "bytes");
	change("deep/x.so", bad_modes[_i]);
	once_more("deep/x.so");
	expect(KP_STATE_REJECTED, "writable_by_others");
	change("deep/x.so", 0600);
	once_more("deep/x.so");
	expect(KP_STATE_ACTIVE, "");
	change("deep", bad_modes[_i] | 0111);
	once_more("deep/x.so");
	expect(KP_STATE_REJECTED, "writable_by_others");
}
END_TEST

START_TEST(anybodys_files_are_taken_by_who_wants_them)
{
	library("x.so", "bytes");
	change("x.so", bad_modes[_i]);
	any_files = true;
	once_more("x.so");
	expect(KP_STATE_ACTIVE, "");
	/* What was found under that does not hold without it. */
	any_files = false;
	once_more("x.so");
	expect(KP_STATE_REJECTED, "writable_by_others");
}
END_TEST

START_TEST(t14_what_was_trusted_is_asked_again_at_a_warm_start)
{
	library("deep/x.so", "bytes");
	serves_all = true;
	once_more("deep/x.so");
	expect(KP_STATE_ACTIVE, "");
	change("deep", 0777);
	once_more("deep/x.so");
	expect_distrust("writable_by_others", "/deep ", "0777");
	change("deep", 0755);
	once_more("deep/x.so");
	expect(KP_STATE_ACTIVE, "");
}
END_TEST

static void note_stale(void *context, const struct stale_plugin *plugins, size_t count)
{
	(void)plugins;
	*(size_t *)context = count;
}

START_TEST(t14_directory_that_is_mended_makes_it_stale)
{
	size_t count = SIZE_MAX;
	library("deep/x.so", "bytes");
	change("deep", 0777);
	serves_all = true;
	struct kp_manifest m = manifest("deep/x.so");
	struct kp_manifests manifests = {.count = 1, .items = &m};
	start();
	go(&m, false);
	expect(KP_STATE_REJECTED, "writable_by_others");
	change("deep", 0755);
	pipeline_stale(pipeline, &manifests, note_stale, &count);
	while (count == SIZE_MAX && uv_run(&loop, UV_RUN_ONCE))
		;
	ck_assert_uint_eq(count, 1);
	stop();
	kp_manifest_finish(&m);
}
END_TEST

/* ---- what is not public does not become so
 * --------------------------------------------- */

START_TEST(library_that_not_everybody_may_read_is_not_published)
{
	library("x.so", "bytes");
	change("x.so", 0640);
	serves_all = true;
	once_more("x.so");
	expect(KP_STATE_REJECTED, "not_world_readable");
	expect_said("0640");
	expect_said("`chmod a+r ");
}
END_TEST

START_TEST(file_beside_it_that_not_everybody_may_read_is_not_published)
{
	library("x.so", "bytes");
	library("liby.so", "secret");
	change("liby.so", 0600);
	bring("$ORIGIN");
	serves_all = true;
	once_more("x.so");
	expect(KP_STATE_REJECTED, "not_world_readable");
	expect_said("liby.so");
	ck_assert_ptr_null(verdict.stored);
}
END_TEST

static size_t drafts;

static void look_at_drafts(void)
{
	struct dirent *item;
	struct stat st;
	DIR *stream = opendir(store_dir);

	ck_assert_ptr_nonnull(stream);
	while ((item = readdir(stream))) {
		if (strncmp(item->d_name, ".new-", 5) != 0)
			continue;
		ck_assert_int_eq(fstatat(dirfd(stream), item->d_name, &st, 0), 0);
		ck_assert_int_eq(st.st_mode & 077, 0);
		drafts++;
	}
	closedir(stream);
}

/* A worker looks at the first copy: nobody else may, while it is no library yet. */
START_TEST(draft_is_nobody_elses)
{
	library("x.so", "bytes");
	workers.identifying = look_at_drafts;
	once_more("x.so");
	expect(KP_STATE_ACTIVE, "");
	ck_assert_uint_eq(drafts, 1);
}
END_TEST

static Suite *suite(void)
{
	const int modes = sizeof(bad_modes) / sizeof(bad_modes[0]);
	Suite *s = suite_create("pipeline_trust");
	TCase *t = tcase_create("pipeline_trust");
	tcase_add_checked_fixture(t, make, unmake);
	tcase_set_timeout(t, 30);
	tcase_add_test(t, t14_library_of_root_or_ours_is_taken);
	tcase_add_loop_test(
		t, t14_library_that_others_may_write_is_rejected_with_its_mode, 0, modes);
	tcase_add_test(t, t14_library_of_another_user_is_rejected_with_the_uid);
	tcase_add_test(t, t14_directory_above_that_others_may_write_counts);
	tcase_add_test(t, t14_directory_above_of_another_user_counts);
	tcase_add_test(t, t14_library_beside_it_counts);
	tcase_add_test(t, t14_library_elsewhere_that_it_needs_counts);
	tcase_add_loop_test(t, t14_a_daemon_of_one_user_asks_as_well, 0, modes);
	tcase_add_loop_test(t, anybodys_files_are_taken_by_who_wants_them, 0, modes);
	tcase_add_test(t, t14_what_was_trusted_is_asked_again_at_a_warm_start);
	tcase_add_test(t, t14_directory_that_is_mended_makes_it_stale);
	tcase_add_test(t, library_that_not_everybody_may_read_is_not_published);
	tcase_add_test(t, file_beside_it_that_not_everybody_may_read_is_not_published);
	tcase_add_test(t, draft_is_nobody_elses);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return suite_run(suite());
}
