/* SPDX-License-Identifier: MIT */
/* The cache of the pipeline: what is asked again, and what is not. */
#include "tests/support/played_workers.h"

/* ---- the cache -----------------------------------------------------------------------
 */

/* A file of whose change no time would tell is hashed again, but not asked about. */
START_TEST(warm_start_asks_no_worker)
{
	library("x.so", "bytes");
	once_more("x.so");
	expect_asked(1, 1);
	once_more("x.so");
	expect(KP_STATE_ACTIVE, "");
	expect_asked(1, 1);
	ck_assert(verdict.probe_ms < 0);
	ck_assert_ptr_nonnull(verdict.note);
	ck_assert_int_eq(access(verdict.stored, R_OK), 0);
}
END_TEST

START_TEST(touched_library_asks_no_worker)
{
	const char *path = library("x.so", "bytes");
	once_more("x.so");
	ck_assert_int_eq(unlink(path), 0);
	library("x.so", "bytes");
	once_more("x.so");
	expect(KP_STATE_ACTIVE, "");
	expect_asked(1, 1);
}
END_TEST

START_TEST(other_bytes_are_probed)
{
	library("x.so", "bytes");
	once_more("x.so");
	library("x.so", "Bytes");
	once_more("x.so");
	expect_asked(2, 2);
}
END_TEST

START_TEST(bytes_that_come_back_are_known)
{
	library("x.so", "bytes");
	once_more("x.so");
	library("x.so", "Bytes");
	once_more("x.so");
	library("x.so", "bytes");
	once_more("x.so");
	ck_assert_uint_eq(workers.probes, 2);
}
END_TEST

START_TEST(fresh_forgets_what_is_known)
{
	library("x.so", "bytes");
	struct kp_manifest m = manifest("x.so");
	start();
	go(&m, false);
	go(&m, true);
	stop();
	expect_asked(2, 2);
	kp_manifest_finish(&m);
}
END_TEST

START_TEST(killer_is_not_run_again_at_the_next_start)
{
	library("x.so", "bytes");
	workers.ends = 1;
	workers.probe_end = KP_WORKER_KILLED;
	once_more("x.so");
	once_more("x.so");
	expect(KP_STATE_FAILED, "killed");
	ck_assert_ptr_nonnull(verdict.evidence);
	expect_asked(1, 1);
}
END_TEST

static void look_at_age(uv_timer_t *timer)
{
	struct stat st;
	ck_assert_int_eq(stat(timer->data, &st), 0);
	if (time(NULL) >= st.st_ctim.tv_sec + 3)
		uv_close((uv_handle_t *)timer, NULL);
}

/* Until the file is so old that its times are proof of its bytes. */
static void wait_old(const char *path)
{
	uv_timer_t timer;
	uv_timer_init(&loop, &timer);
	timer.data = (void *)path;
	uv_timer_start(&timer, look_at_age, 0, 100);
	uv_run(&loop, UV_RUN_DEFAULT);
}

/* Rejected bytes have no entry that could be compared: only the times tell. */
START_TEST(old_library_is_not_even_read_at_a_warm_start)
{
	wait_old(library("x.so", "bytes"));
	workers.failed = "exports_more";
	once_more("x.so");
	once_more("x.so");
	expect(KP_STATE_REJECTED, "exports_more");
	ck_assert(verdict.probe_ms < 0);
	expect_asked(1, 0);
}
END_TEST

START_TEST(other_timeout_gives_a_failure_another_chance)
{
	library("x.so", "bytes");
	workers.ends = 1;
	workers.probe_end = KP_WORKER_TIMED_OUT;
	once_more("x.so");
	struct kp_manifest m = manifest("x.so");
	m.timeout_ms = 9000;
	start();
	go(&m, false);
	stop();
	expect(KP_STATE_ACTIVE, "");
	kp_manifest_finish(&m);
}
END_TEST

START_TEST(other_platform_is_probed)
{
	library("x.so", "bytes");
	once_more("x.so");
	platform = "another cpu";
	once_more("x.so");
	ck_assert_uint_eq(workers.probes, 2);
}
END_TEST

START_TEST(other_dependency_is_probed)
{
	const char *path = library("dep/libdep.so", "one");
	json_decref(workers.needs);
	workers.needs = json_pack(
		"[{s:s, s:s, s:[]}]", "name", "libdep.so", "path", path, "searched");
	library("x.so", "bytes");
	once_more("x.so");
	once_more("x.so");
	ck_assert_uint_eq(workers.probes, 1);
	library("dep/libdep.so", "another");
	once_more("x.so");
	ck_assert_uint_eq(workers.probes, 2);
}
END_TEST

START_TEST(damaged_cache_is_said_and_made_again)
{
	char path[400];
	library("x.so", "bytes");
	once_more("x.so");
	snprintf(path, sizeof(path), "%s/probe", cache_dir);
	ck_assert_int_eq(truncate(path, 40), 0);
	struct kp_manifest m = manifest("x.so");
	start();
	go(&m, false);
	ck_assert_uint_eq(pipeline_warnings(pipeline)->count, 1);
	ck_assert_str_eq(pipeline_warnings(pipeline)->items[0].code, "cache_damaged");
	stop();
	expect(KP_STATE_ACTIVE, "");
	expect_asked(2, 2);
	once_more("x.so");
	expect_asked(2, 2);
	kp_manifest_finish(&m);
}
END_TEST

START_TEST(cleared_store_is_filled_again)
{
	library("x.so", "bytes");
	once_more("x.so");
	ck_assert_int_eq(tree_remove(AT_FDCWD, store_dir), 0);
	once_more("x.so");
	expect(KP_STATE_ACTIVE, "");
	ck_assert_int_eq(access(verdict.stored, R_OK), 0);
}
END_TEST

START_TEST(store_that_cannot_be_is_the_reason)
{
	char path[300];
	snprintf(path, sizeof(path), "%s/state", root);
	FILE *out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	fclose(out);
	library("x.so", "bytes");
	once_more("x.so");
	ck_assert_int_eq(verdict.state, KP_STATE_FAILED);
	ck_assert(verdict.retry);
	expect_said(path);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {warm_start_asks_no_worker,
		touched_library_asks_no_worker, other_bytes_are_probed,
		bytes_that_come_back_are_known, fresh_forgets_what_is_known,
		killer_is_not_run_again_at_the_next_start,
		old_library_is_not_even_read_at_a_warm_start,
		other_timeout_gives_a_failure_another_chance, other_platform_is_probed,
		other_dependency_is_probed, damaged_cache_is_said_and_made_again,
		cleared_store_is_filled_again, store_that_cannot_be_is_the_reason};
	return run_cases("pipeline_cache", tests, sizeof(tests) / sizeof(tests[0]));
}
