/* SPDX-License-Identifier: MIT */
/* Files of the pipeline: what they are, what lies beside them, what is being written. */
#include "tests/support/played_workers.h"

/* ---- files ------------------------------------------------------------------------- */

START_TEST(a18_bare_name_is_in_the_plugin_directory)
{
	library("x.so", "bytes");
	once_more("x.so");
	expect(KP_STATE_ACTIVE, "");
}
END_TEST

START_TEST(a18_name_in_no_directory_says_where_it_was_looked_for)
{
	once_more("nowhere.so");
	expect(KP_STATE_MISSING, "missing_file");
	expect_said(plugin_dir);
	expect_said("nowhere.so");
}
END_TEST

START_TEST(a18_absent_absolute_path_mentions_no_other_place)
{
	once_more("/nowhere/x.so");
	expect(KP_STATE_MISSING, "missing_file");
	ck_assert_str_eq(verdict.message, "/nowhere/x.so does not exist");
}
END_TEST

START_TEST(a18_library_that_comes_later_is_found_stale)
{
	once_more("later.so");
	expect(KP_STATE_MISSING, "missing_file");
	library("later.so", "bytes");
	once_more("later.so");
	expect(KP_STATE_ACTIVE, "");
}
END_TEST

START_TEST(t01_fifo_is_rejected)
{
	char path[400];
	snprintf(path, sizeof(path), "%s/x.so", plugin_dir);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	once_more("x.so");
	expect(KP_STATE_REJECTED, "not_regular_file");
	expect_asked(0, 0);
}
END_TEST

START_TEST(t01_device_is_rejected)
{
	once_more("/dev/zero");
	expect(KP_STATE_REJECTED, "not_regular_file");
}
END_TEST

START_TEST(t03_directory_is_rejected)
{
	char path[400];
	snprintf(path, sizeof(path), "%s/x.so", plugin_dir);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	once_more("x.so");
	expect(KP_STATE_REJECTED, "not_regular_file");
}
END_TEST

START_TEST(t03_dangling_link_is_missing_and_says_its_end)
{
	char path[400];
	snprintf(path, sizeof(path), "%s/x.so", plugin_dir);
	ck_assert_int_eq(symlink("gone.so", path), 0);
	once_more("x.so");
	expect(KP_STATE_MISSING, "dangling_link");
	expect_said("gone.so");
}
END_TEST

START_TEST(t03_link_loop_is_rejected)
{
	char path[400];
	snprintf(path, sizeof(path), "%s/x.so", plugin_dir);
	ck_assert_int_eq(symlink("x.so", path), 0);
	once_more("x.so");
	expect(KP_STATE_REJECTED, "link_loop");
}
END_TEST

START_TEST(wrong_digest_is_rejected_with_both)
{
	char digest[DIGEST_TEXT];
	library("x.so", "bytes");
	struct kp_manifest m = manifest("x.so");
	memset(m.sha256, '0', 64);
	m.sha256[64] = '\0';
	start();
	go(&m, false);
	stop();
	digest_bytes("bytes", 5, digest);
	expect(KP_STATE_REJECTED, "digest_mismatch");
	expect_said(digest);
	expect_said(m.sha256);
	expect_asked(0, 0);
	kp_manifest_finish(&m);
}
END_TEST

START_TEST(wrong_digest_is_rejected_when_the_file_is_known_too)
{
	library("x.so", "bytes");
	once_more("x.so");
	struct kp_manifest m = manifest("x.so");
	memset(m.sha256, '0', 64);
	m.sha256[64] = '\0';
	start();
	go(&m, false);
	stop();
	expect(KP_STATE_REJECTED, "digest_mismatch");
	kp_manifest_finish(&m);
}
END_TEST

START_TEST(right_digest_passes)
{
	library("x.so", "bytes");
	struct kp_manifest m = manifest("x.so");
	digest_bytes("bytes", 5, m.sha256);
	start();
	go(&m, false);
	stop();
	expect(KP_STATE_ACTIVE, "");
	kp_manifest_finish(&m);
}
END_TEST

/* Writes a library in steps, as a copy over the network does. */
struct writer {
	uv_timer_t timer;
	FILE *out;
	int left;
};

static void write_step(uv_timer_t *timer)
{
	struct writer *writer = timer->data;
	fputs("piece", writer->out);
	fflush(writer->out);
	if (--writer->left > 0)
		return;
	fclose(writer->out);
	uv_close((uv_handle_t *)timer, NULL);
}

static void write_slowly(int steps, unsigned pause_ms, void (*replace)(void))
{
	char path[400];
	struct kp_manifest m = manifest("x.so");
	struct writer writer = {.left = steps};
	snprintf(path, sizeof(path), "%s/x.so", plugin_dir);
	writer.out = fopen(path, "w");
	ck_assert_ptr_nonnull(writer.out);
	uv_timer_init(&loop, &writer.timer);
	writer.timer.data = &writer;
	uv_timer_start(&writer.timer, write_step, 0, pause_ms);
	start();
	if (replace)
		replace();
	go(&m, false);
	stop();
	kp_manifest_finish(&m);
	expect(KP_STATE_ACTIVE, "");
	ck_assert_int_eq(verdict.bytes, 5 * steps);
	expect_asked(1, 1);
}

START_TEST(t16_half_written_library_is_probed_once_when_it_is_whole)
{
	write_slowly(8, 50, NULL);
}
END_TEST

START_TEST(t16_long_pauses_do_not_fool_it)
{
	write_slowly(3, 400, NULL);
}
END_TEST

static void swap_file(void)
{
	char path[400];
	snprintf(path, sizeof(path), "%s/.x.so.swp", plugin_dir);
	FILE *out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	fclose(out);
}

START_TEST(t16_swap_file_beside_it_changes_nothing)
{
	write_slowly(4, 50, swap_file);
}
END_TEST

/* ---- libraries beside it
 * --------------------------------------------------------------- */

static void expect_beside(const char *name)
{
	char path[700];
	snprintf(path, sizeof(path), "%.*s/%s",
		(int)(strrchr(verdict.stored, '/') - verdict.stored), verdict.stored,
		name);
	ck_assert_msg(access(path, R_OK) == 0, "%s", path);
}

START_TEST(library_beside_it_is_stored_with_it)
{
	library("liby.so", "other");
	library("x.so", "bytes");
	bring("$ORIGIN");
	once_more("x.so");
	expect(KP_STATE_ACTIVE, "");
	expect_beside("liby.so");
	expect_asked(2, 1);
}
END_TEST

START_TEST(library_in_a_sibling_directory_is_stored_with_it)
{
	library("x.libs/liby.so", "other");
	library("x/x.so", "bytes");
	bring("${ORIGIN}/../x.libs");
	once_more("x/x.so");
	expect(KP_STATE_ACTIVE, "");
	expect_beside("../x.libs/liby.so");
}
END_TEST

START_TEST(library_of_the_system_is_not_stored)
{
	library("liby.so", "other");
	library("x.so", "bytes");
	bring("/usr/lib");
	once_more("x.so");
	expect(KP_STATE_ACTIVE, "");
	expect_asked(1, 1);
}
END_TEST

START_TEST(changed_library_beside_it_is_another_closure)
{
	char before[65];
	library("liby.so", "other");
	library("x.so", "bytes");
	bring("$ORIGIN");
	once_more("x.so");
	snprintf(before, sizeof(before), "%s", verdict.closure);
	library("liby.so", "another");
	once_more("x.so");
	ck_assert_str_ne(verdict.closure, before);
	ck_assert_uint_eq(workers.probes, 2);
}
END_TEST

START_TEST(warm_start_with_a_library_beside_it_asks_no_worker)
{
	library("liby.so", "other");
	library("x.so", "bytes");
	bring("$ORIGIN");
	once_more("x.so");
	once_more("x.so");
	expect(KP_STATE_ACTIVE, "");
	expect_asked(2, 1);
}
END_TEST

START_TEST(library_that_comes_beside_it_is_noticed)
{
	library("x.so", "bytes");
	bring("$ORIGIN");
	once_more("x.so");
	expect_asked(1, 1);
	library("liby.so", "other");
	once_more("x.so");
	expect_beside("liby.so");
	ck_assert_uint_eq(workers.probes, 2);
}
END_TEST

START_TEST(bad_library_beside_it_rejects_the_plugin)
{
	library("liby.so", "other");
	library("x.so", "bytes");
	bring("$ORIGIN");
	workers.part_failed = "elf_truncated";
	once_more("x.so");
	expect(KP_STATE_REJECTED, "elf_truncated");
	expect_said("liby.so");
	expect_asked(2, 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {a18_bare_name_is_in_the_plugin_directory,
		a18_name_in_no_directory_says_where_it_was_looked_for,
		a18_absent_absolute_path_mentions_no_other_place,
		a18_library_that_comes_later_is_found_stale, t01_fifo_is_rejected,
		t01_device_is_rejected, t03_directory_is_rejected,
		t03_dangling_link_is_missing_and_says_its_end, t03_link_loop_is_rejected,
		wrong_digest_is_rejected_with_both,
		wrong_digest_is_rejected_when_the_file_is_known_too, right_digest_passes,
		t16_half_written_library_is_probed_once_when_it_is_whole,
		t16_long_pauses_do_not_fool_it, t16_swap_file_beside_it_changes_nothing,
		library_beside_it_is_stored_with_it,
		library_in_a_sibling_directory_is_stored_with_it,
		library_of_the_system_is_not_stored,
		changed_library_beside_it_is_another_closure,
		warm_start_with_a_library_beside_it_asks_no_worker,
		library_that_comes_beside_it_is_noticed,
		bad_library_beside_it_rejects_the_plugin};
	return run_cases("pipeline_file", tests, sizeof(tests) / sizeof(tests[0]));
}
