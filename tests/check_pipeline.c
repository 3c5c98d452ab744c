/* SPDX-License-Identifier: MIT */
/* Verdicts of the pipeline, several plugins at a time, and what has become stale. */
#include "tests/support/played_workers.h"

/* ---- what a verdict holds ------------------------------------------------------------
 */

START_TEST(good_plugin_is_active)
{
	library("x.so", "bytes");
	once_more("x.so");
	expect(KP_STATE_ACTIVE, "");
	ck_assert_ptr_nonnull(verdict.note);
	ck_assert_ptr_nonnull(verdict.elf);
	ck_assert_int_eq(verdict.bytes, 5);
	ck_assert_uint_eq(verdict.n_kernels, 1);
	ck_assert(verdict.probe_ms > 0);
}
END_TEST

START_TEST(stored_copy_is_what_is_probed)
{
	char *text;
	size_t size;
	char digest[DIGEST_TEXT];
	library("x.so", "bytes");
	once_more("x.so");
	ck_assert_str_eq(workers.probed, verdict.stored);
	ck_assert_int_eq(
		kp_file_read(AT_FDCWD, verdict.stored, 100, &text, &size, &diag), 0);
	ck_assert_str_eq(text, "bytes");
	digest_bytes(text, size, digest);
	ck_assert_str_eq(verdict.digest, digest);
	free(text);
}
END_TEST

START_TEST(verdict_names_plugin_and_manifest)
{
	library("x.so", "bytes");
	struct kp_manifest m = manifest("x.so");
	start();
	go(&m, false);
	ck_assert_str_eq(verdict_of, m.name);
	ck_assert_str_eq(verdict_manifest, m.digest);
	stop();
	kp_manifest_finish(&m);
}
END_TEST

START_TEST(rejected_plugin_is_not_stored_nor_probed)
{
	library("x.so", "bytes");
	workers.failed = "elf_truncated";
	once_more("x.so");
	expect(KP_STATE_REJECTED, "elf_truncated");
	ck_assert_ptr_null(verdict.stored);
	expect_asked(1, 0);
}
END_TEST

START_TEST(killed_probe_is_a_failure_with_evidence)
{
	library("x.so", "bytes");
	workers.ends = 1;
	workers.probe_end = KP_WORKER_KILLED;
	once_more("x.so");
	expect(KP_STATE_FAILED, "killed");
	ck_assert_str_eq(json_string_value(json_object_get(verdict.evidence, "signal")),
		"SIGSEGV");
	ck_assert_str_eq(
		json_string_value(json_object_get(verdict.evidence, "stage")), "load");
	ck_assert(json_is_null(json_object_get(verdict.evidence, "exit")));
	ck_assert_ptr_nonnull(verdict.note);
}
END_TEST

START_TEST(what_the_probe_reports_is_the_reason)
{
	library("x.so", "bytes");
	workers.probe_failed = "load_failed";
	once_more("x.so");
	expect(KP_STATE_FAILED, "load_failed");
	expect_said("so it is");
}
END_TEST

/* Not the plugin failed, but what lay in the store. */
START_TEST(library_that_was_damaged_in_the_store_is_probed_again)
{
	library("x.so", "bytes");
	workers.spoils = 1;
	once_more("x.so");
	expect(KP_STATE_ACTIVE, "");
	ck_assert_uint_eq(verdict.warnings.count, 1);
	ck_assert_str_eq(verdict.warnings.items[0].code, "store_damaged");
	expect_asked(2, 2);
}
END_TEST

START_TEST(store_that_damages_everything_is_not_asked_for_ever)
{
	library("x.so", "bytes");
	workers.spoils = 100;
	once_more("x.so");
	ck_assert_int_eq(verdict.state, KP_STATE_FAILED);
	expect_asked(2, 2);
}
END_TEST

START_TEST(who_killed_its_keeper_is_not_asked_again)
{
	library("x.so", "bytes");
	workers.ends = 10;
	workers.probe_end = KP_WORKER_KILLED_PARENT;
	once_more("x.so");
	ck_assert_int_eq(verdict.state, KP_STATE_FAILED);
	ck_assert(!verdict.retry);
	expect_asked(1, 1);
}
END_TEST

START_TEST(who_was_lost_once_is_probed_alone)
{
	library("x.so", "bytes");
	workers.ends = 1;
	workers.probe_end = KP_WORKER_LOST;
	once_more("x.so");
	expect(KP_STATE_ACTIVE, "");
	ck_assert_uint_eq(workers.alone, 1);
	expect_asked(1, 2);
}
END_TEST

START_TEST(lost_worker_is_asked_again)
{
	library("x.so", "bytes");
	workers.ends = 3;
	workers.probe_end = KP_WORKER_LOST;
	once_more("x.so");
	expect(KP_STATE_ACTIVE, "");
	expect_asked(1, 4);
}
END_TEST

START_TEST(worker_lost_again_and_again_is_nobodys_blame)
{
	library("x.so", "bytes");
	workers.ends = 10;
	workers.probe_end = KP_WORKER_LOST;
	once_more("x.so");
	expect(KP_STATE_FAILED, "worker_lost");
	ck_assert(verdict.retry);
	expect_asked(1, 4);
	workers.ends = 0;
	once_more("x.so");
	expect(KP_STATE_ACTIVE, "");
}
END_TEST

/* ---- several at a time
 * ------------------------------------------------------------------- */

START_TEST(cancelled_way_has_no_verdict)
{
	library("x.so", "bytes");
	struct kp_manifest m = manifest("x.so");
	start();
	ck_assert_int_eq(pipeline_start(pipeline, &m, false), 0);
	pipeline_cancel(pipeline, m.name);
	ck_assert_uint_eq(pipeline_active(pipeline), 0);
	stop();
	ck_assert_uint_eq(verdicts, 0);
	kp_manifest_finish(&m);
}
END_TEST

/* Stops it while the worker is at it. */
static void hold_probe(const struct kp_manifest *m)
{
	workers.hold = true;
	start();
	ck_assert_int_eq(pipeline_start(pipeline, m, false), 0);
	while (workers.probes == 0 && uv_run(&loop, UV_RUN_ONCE))
		;
}

START_TEST(cancel_ends_the_worker)
{
	library("x.so", "bytes");
	struct kp_manifest m = manifest("x.so");
	hold_probe(&m);
	pipeline_cancel(pipeline, m.name);
	stop();
	ck_assert_uint_eq(workers.cancelled, 1);
	ck_assert_uint_eq(verdicts, 0);
	kp_manifest_finish(&m);
}
END_TEST

START_TEST(close_ends_what_is_under_way)
{
	library("x.so", "bytes");
	struct kp_manifest m = manifest("x.so");
	hold_probe(&m);
	stop();
	ck_assert_uint_eq(workers.cancelled, 1);
	ck_assert_uint_eq(verdicts, 0);
	kp_manifest_finish(&m);
}
END_TEST

START_TEST(second_start_replaces_the_first)
{
	library("x.so", "bytes");
	struct kp_manifest m = manifest("x.so");
	hold_probe(&m);
	workers.hold = false;
	strcpy(m.digest, "second");
	go(&m, false);
	stop();
	ck_assert_uint_eq(verdicts, 1);
	ck_assert_str_eq(verdict_manifest, "second");
	kp_manifest_finish(&m);
}
END_TEST

START_TEST(many_plugins_of_one_content_share_an_entry)
{
	char name[32];
	struct kp_manifest m[20];
	start();
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "d%d/x.so", i);
		library(name, "bytes");
		m[i] = manifest(name);
		free(m[i].name);
		m[i].name = strdup(name);
		ck_assert_int_eq(pipeline_start(pipeline, &m[i], false), 0);
	}
	ck_assert_uint_eq(pipeline_active(pipeline), 20);
	while (pipeline_active(pipeline) > 0 && uv_run(&loop, UV_RUN_ONCE))
		expect(verdicts ? KP_STATE_ACTIVE : KP_STATE_PENDING, "");
	ck_assert_uint_eq(verdicts, 20);
	stop();
	for (int i = 0; i < 20; i++)
		kp_manifest_finish(&m[i]);
}
END_TEST

/* ---- stale
 * ----------------------------------------------------------------------------- */

struct answer {
	bool came;
	size_t count;
	char first[65];
};

static void found(void *context, const struct stale_plugin *plugins, size_t count)
{
	struct answer *answer = context;
	answer->came = true;
	answer->count = count;
	if (count > 0)
		snprintf(answer->first, sizeof(answer->first), "%s", plugins[0].name);
}

static struct answer ask_stale(struct kp_manifest *m, size_t count)
{
	struct kp_manifests manifests = {.count = count, .items = m};
	struct answer answer = {0};
	pipeline_stale(pipeline, &manifests, found, &answer);
	while (!answer.came && uv_run(&loop, UV_RUN_ONCE))
		;
	return answer;
}

/* Has a verdict, then something happens to the files. */
static struct answer stale_after(const char *file, void (*happens)(void))
{
	struct kp_manifest m = manifest(file);
	start();
	go(&m, false);
	happens();
	struct answer answer = ask_stale(&m, 1);
	stop();
	if (answer.count > 0)
		ck_assert_str_eq(answer.first, m.name);
	kp_manifest_finish(&m);
	return answer;
}

static void nothing(void)
{
}

static void rewrite(void)
{
	library("x.so", "Bytes");
}

static void take_away(void)
{
	ck_assert_int_eq(unlink(library("x.so", "")), 0);
}

static void come(void)
{
	library("x.so", "bytes");
}

static void come_beside(void)
{
	library("liby.so", "bytes");
}

START_TEST(untouched_plugin_is_not_stale)
{
	library("x.so", "bytes");
	ck_assert_uint_eq(stale_after("x.so", nothing).count, 0);
}
END_TEST

START_TEST(changed_library_is_stale)
{
	library("x.so", "bytes");
	ck_assert_uint_eq(stale_after("x.so", rewrite).count, 1);
}
END_TEST

START_TEST(vanished_library_is_stale)
{
	library("x.so", "bytes");
	ck_assert_uint_eq(stale_after("x.so", take_away).count, 1);
}
END_TEST

START_TEST(missing_library_that_comes_is_stale)
{
	ck_assert_uint_eq(stale_after("x.so", come).count, 1);
}
END_TEST

START_TEST(missing_library_that_stays_away_is_not_stale)
{
	ck_assert_uint_eq(stale_after("x.so", nothing).count, 0);
}
END_TEST

START_TEST(library_that_comes_beside_it_makes_it_stale)
{
	library("x.so", "bytes");
	bring("$ORIGIN");
	ck_assert_uint_eq(stale_after("x.so", come_beside).count, 1);
}
END_TEST

START_TEST(plugin_without_a_manifest_is_forgotten)
{
	library("x.so", "bytes");
	struct kp_manifest m = manifest("x.so");
	start();
	go(&m, false);
	rewrite();
	ck_assert_uint_eq(ask_stale(NULL, 0).count, 0);
	stop();
	kp_manifest_finish(&m);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {good_plugin_is_active,
		stored_copy_is_what_is_probed, verdict_names_plugin_and_manifest,
		rejected_plugin_is_not_stored_nor_probed,
		killed_probe_is_a_failure_with_evidence,
		what_the_probe_reports_is_the_reason,
		library_that_was_damaged_in_the_store_is_probed_again,
		store_that_damages_everything_is_not_asked_for_ever,
		who_killed_its_keeper_is_not_asked_again,
		who_was_lost_once_is_probed_alone, lost_worker_is_asked_again,
		worker_lost_again_and_again_is_nobodys_blame,
		cancelled_way_has_no_verdict, cancel_ends_the_worker,
		close_ends_what_is_under_way, second_start_replaces_the_first,
		many_plugins_of_one_content_share_an_entry, untouched_plugin_is_not_stale,
		changed_library_is_stale, vanished_library_is_stale,
		missing_library_that_comes_is_stale,
		missing_library_that_stays_away_is_not_stale,
		library_that_comes_beside_it_makes_it_stale,
		plugin_without_a_manifest_is_forgotten};
	return run_cases("pipeline", tests, sizeof(tests) / sizeof(tests[0]));
}
