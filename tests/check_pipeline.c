/* SPDX-License-Identifier: MIT */
/*
 * The pipeline, with workers that are played: what they answer is set by the
 * test, how often they were asked is counted.
 */
#include "daemon/pipeline.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/digest.h"
#include "daemon/tree.h"
#include "lib/file.h"

/* ---- the workers ------------------------------------------------------------------ */

struct pool {
	size_t identifies, probes;
	enum kp_worker_end probe_end; /* of the first `ends` probes */
	size_t ends;
	json_t *elf, *needs; /* of the next identify; NULL: the plain ones */
	const char *failed;  /* code of the plugin's identify, or NULL */
	const char *probe_failed;
	const char *part_failed; /* of a library that is not the plugin's */
	char probed[512];	 /* path that was probed last */
	bool hold;		 /* probes do not end */
	size_t cancelled;
};

struct pool_job {
	struct pool *pool;
	uv_timer_t timer;
	struct pool_request request;
	bool cancelled;
};

static const char plain_note[] = "{\"name\":\"x\",\"version\":\"1.0.0\",\"kernels\":[]}";

static void job_gone(uv_handle_t *handle)
{
	struct pool_job *job = handle->data;
	json_decref(job->request.job);
	free(job);
}

static void tell(struct pool_job *job, json_t *line)
{
	job->request.on_line(job->request.context, line);
	json_decref(line);
}

static void tell_failed(struct pool_job *job, const char *code, const char *state)
{
	tell(job, json_pack("{s:{s:s, s:s, s:s}, s:s}", "failed", "code", code, "message",
			  "so it is", "object", "", "state", state));
}

static bool is_part(const struct pool_job *job)
{
	const char *file = json_string_value(json_object_get(job->request.job, "file"));
	return strstr(file, "liby") != NULL;
}

static void identify(struct pool_job *job)
{
	struct pool *pool = job->pool;
	pool->identifies++;
	ck_assert_uint_eq(job->request.n_fds, 1);
	if (is_part(job)) {
		if (!pool->part_failed)
			tell(job, json_pack("{s:{s:[]}}", "elf", "needed"));
		tell_failed(job, pool->part_failed ? pool->part_failed : "no_note",
			"rejected");
		return;
	}
	tell(job, json_pack("{s:O}", "elf", pool->elf));
	if (pool->failed) {
		tell_failed(job, pool->failed, "rejected");
		return;
	}
	tell(job, json_pack("{s:o}", "note", json_loads(plain_note, 0, NULL)));
	tell(job, json_pack("{s:O}", "needs", pool->needs));
}

static enum kp_worker_end probe(struct pool_job *job)
{
	struct pool *pool = job->pool;
	pool->probes++;
	snprintf(pool->probed, sizeof(pool->probed), "%s",
		json_string_value(json_object_get(job->request.job, "stored")));
	if (pool->probes <= pool->ends)
		return pool->probe_end;
	if (pool->probe_failed)
		tell_failed(job, pool->probe_failed, "failed");
	else
		tell(job, json_pack("{s:s, s:b}", "kernel", "mm", "available", 1));
	return KP_WORKER_DONE;
}

static void end(struct pool_job *job, enum kp_worker_end how)
{
	struct kp_worker_result result = {
		.end = how,
		.exit = how == KP_WORKER_DONE ? 0 : -1,
		.signal = how == KP_WORKER_KILLED ? 11 : 0,
		.elapsed_ms = 1,
	};
	snprintf(result.stage, sizeof(result.stage), "load");
	if (how != KP_WORKER_DONE)
		kp_diag_set(&result.diag, "killed", "x", "killed by SIGSEGV during load");
	job->request.on_end(job->request.context, &result);
	uv_close((uv_handle_t *)&job->timer, job_gone);
}

static void run_job(uv_timer_t *timer)
{
	struct pool_job *job = timer->data;
	const char *kind = json_string_value(json_object_get(job->request.job, "kind"));
	if (job->cancelled) {
		job->pool->cancelled++;
		end(job, KP_WORKER_CANCELLED);
	} else if (strcmp(kind, "identify") == 0) {
		identify(job);
		end(job, KP_WORKER_DONE);
	} else if (!job->pool->hold) {
		end(job, probe(job));
	} else {
		job->pool->probes++;
	}
}

static uv_loop_t loop;

struct pool_job *pool_submit(struct pool *pool, const struct pool_request *request)
{
	struct pool_job *job = calloc(1, sizeof(*job));
	ck_assert_ptr_nonnull(job);
	job->pool = pool;
	job->request = *request;
	json_incref(request->job);
	uv_timer_init(&loop, &job->timer);
	job->timer.data = job;
	uv_timer_start(&job->timer, run_job, 0, 0);
	return job;
}

void pool_cancel(struct pool_job *job)
{
	job->cancelled = true;
	uv_timer_start(&job->timer, run_job, 0, 0);
}

/* ---- the place ----------------------------------------------------------------------
 */

static char root[256], plugin_dir[300], store_dir[300], cache_dir[300];
static struct pool workers;
static struct pipeline *pipeline;
static struct kp_verdict verdict; /* the last one */
static size_t verdicts;
static char verdict_of[65], verdict_manifest[17];
static const char *platform;
static struct kp_diag diag;

static void make(void)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(root, sizeof(root), "%s/kplug-pipeline-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(root));
	snprintf(plugin_dir, sizeof(plugin_dir), "%s/plugins", root);
	snprintf(store_dir, sizeof(store_dir), "%s/state/store", root);
	snprintf(cache_dir, sizeof(cache_dir), "%s/cache", root);
	ck_assert_int_eq(mkdir(plugin_dir, 0755), 0);
	ck_assert_int_eq(uv_loop_init(&loop), 0);
	workers = (struct pool){
		.elf = json_pack("{s:[s]}", "needed", "libc.so.6"),
		.needs = json_array(),
	};
	platform = "one cpu";
}

static void unmake(void)
{
	kp_verdict_finish(&verdict);
	json_decref(workers.elf);
	json_decref(workers.needs);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
	ck_assert_int_eq(tree_remove(AT_FDCWD, root), 0);
}

static void done(
	void *context, const char *plugin, const char *digest, struct kp_verdict *given)
{
	(void)context;
	kp_verdict_finish(&verdict);
	verdict = *given;
	verdicts++;
	snprintf(verdict_of, sizeof(verdict_of), "%s", plugin);
	snprintf(verdict_manifest, sizeof(verdict_manifest), "%s", digest);
}

static void start(void)
{
	const struct pipeline_options options = {
		plugin_dir, store_dir, cache_dir, platform};
	pipeline = pipeline_new(&loop, &workers, &options, done, NULL);
	ck_assert_ptr_nonnull(pipeline);
}

static void closed(void *context)
{
	*(bool *)context = true;
}

static void stop(void)
{
	bool over = false;
	pipeline_close(pipeline, closed, &over);
	uv_run(&loop, UV_RUN_DEFAULT);
	ck_assert(over);
}

static void age(const char *path)
{
	struct timespec times[2] = {
		{.tv_sec = time(NULL) - 60}, {.tv_sec = time(NULL) - 60}};
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A library that nobody is writing; the path is valid until the next call. */
static const char *library(const char *name, const char *text)
{
	static char path[600];
	snprintf(path, sizeof(path), "%s/%s", plugin_dir, name);
	char *slash = strrchr(path, '/');
	*slash = '\0';
	ck_assert_int_eq(kp_file_make_dirs(path, 0755, &diag), 0);
	*slash = '/';
	FILE *out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	fputs(text, out);
	ck_assert_int_eq(fclose(out), 0);
	age(path);
	return path;
}

static struct kp_manifest manifest(const char *file)
{
	struct kp_manifest m;
	char text[700];
	int n = snprintf(
		text, sizeof(text), "{\"library\":\"%s\",\"timeout_ms\":5000}", file);
	ck_assert_msg(kp_manifest_parse(text, (size_t)n, "/etc/x.json", &m, &diag) == 0,
		"%s", diag.message);
	return m;
}

/* The loop until there is a further verdict. */
static void wait_verdict(void)
{
	size_t before = verdicts;
	while (verdicts == before && uv_run(&loop, UV_RUN_ONCE))
		;
	ck_assert_uint_eq(verdicts, before + 1);
}

static void go(const struct kp_manifest *m, bool fresh)
{
	ck_assert_int_eq(pipeline_start(pipeline, m, fresh), 0);
	wait_verdict();
}

/* A whole life of a pipeline, for one plugin. */
static void once_more(const char *file)
{
	struct kp_manifest m = manifest(file);
	start();
	go(&m, false);
	stop();
	kp_manifest_finish(&m);
}

static void expect(enum kp_state state, const char *code)
{
	ck_assert_msg(verdict.state == state, "%s: %s: %s", kp_state_name(verdict.state),
		verdict.code, verdict.message ? verdict.message : "");
	ck_assert_str_eq(verdict.code, code);
}

static void expect_said(const char *text)
{
	ck_assert_msg(strstr(verdict.message, text) != NULL, "%s", verdict.message);
}

static void expect_asked(size_t identifies, size_t probes)
{
	ck_assert_uint_eq(workers.identifies, identifies);
	ck_assert_uint_eq(workers.probes, probes);
}

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

/* ---- libraries beside it
 * --------------------------------------------------------------- */

static void bring(const char *runpath)
{
	json_decref(workers.elf);
	workers.elf = json_pack("{s:[s, s], s:[s]}", "needed", "libc.so.6", "liby.so",
		"runpath", runpath);
}

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

static void found(void *context, const char *const *plugins, size_t count)
{
	struct answer *answer = context;
	answer->came = true;
	answer->count = count;
	if (count > 0)
		snprintf(answer->first, sizeof(answer->first), "%s", plugins[0]);
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

static TCase *verdict_cases(void)
{
	TCase *t = tcase_create("verdict");
	tcase_add_test(t, good_plugin_is_active);
	tcase_add_test(t, stored_copy_is_what_is_probed);
	tcase_add_test(t, verdict_names_plugin_and_manifest);
	tcase_add_test(t, rejected_plugin_is_not_stored_nor_probed);
	tcase_add_test(t, killed_probe_is_a_failure_with_evidence);
	tcase_add_test(t, what_the_probe_reports_is_the_reason);
	tcase_add_test(t, lost_worker_is_asked_again);
	tcase_add_test(t, worker_lost_again_and_again_is_nobodys_blame);
	return t;
}

static TCase *file_cases(void)
{
	TCase *t = tcase_create("file");
	tcase_add_test(t, a18_bare_name_is_in_the_plugin_directory);
	tcase_add_test(t, a18_name_in_no_directory_says_where_it_was_looked_for);
	tcase_add_test(t, a18_absent_absolute_path_mentions_no_other_place);
	tcase_add_test(t, a18_library_that_comes_later_is_found_stale);
	tcase_add_test(t, t01_fifo_is_rejected);
	tcase_add_test(t, t01_device_is_rejected);
	tcase_add_test(t, t03_directory_is_rejected);
	tcase_add_test(t, t03_dangling_link_is_missing_and_says_its_end);
	tcase_add_test(t, t03_link_loop_is_rejected);
	tcase_add_test(t, wrong_digest_is_rejected_with_both);
	tcase_add_test(t, wrong_digest_is_rejected_when_the_file_is_known_too);
	tcase_add_test(t, right_digest_passes);
	tcase_add_test(t, t16_half_written_library_is_probed_once_when_it_is_whole);
	tcase_add_test(t, t16_long_pauses_do_not_fool_it);
	tcase_add_test(t, t16_swap_file_beside_it_changes_nothing);
	return t;
}

static TCase *cache_cases(void)
{
	TCase *t = tcase_create("cache");
	tcase_add_test(t, warm_start_asks_no_worker);
	tcase_add_test(t, touched_library_asks_no_worker);
	tcase_add_test(t, other_bytes_are_probed);
	tcase_add_test(t, bytes_that_come_back_are_known);
	tcase_add_test(t, fresh_forgets_what_is_known);
	tcase_add_test(t, killer_is_not_run_again_at_the_next_start);
	tcase_add_test(t, old_library_is_not_even_read_at_a_warm_start);
	tcase_add_test(t, other_timeout_gives_a_failure_another_chance);
	tcase_add_test(t, other_platform_is_probed);
	tcase_add_test(t, other_dependency_is_probed);
	tcase_add_test(t, damaged_cache_is_said_and_made_again);
	tcase_add_test(t, cleared_store_is_filled_again);
	tcase_add_test(t, store_that_cannot_be_is_the_reason);
	return t;
}

static TCase *beside_cases(void)
{
	TCase *t = tcase_create("beside");
	tcase_add_test(t, library_beside_it_is_stored_with_it);
	tcase_add_test(t, library_in_a_sibling_directory_is_stored_with_it);
	tcase_add_test(t, library_of_the_system_is_not_stored);
	tcase_add_test(t, changed_library_beside_it_is_another_closure);
	tcase_add_test(t, warm_start_with_a_library_beside_it_asks_no_worker);
	tcase_add_test(t, library_that_comes_beside_it_is_noticed);
	tcase_add_test(t, bad_library_beside_it_rejects_the_plugin);
	return t;
}

static TCase *life_cases(void)
{
	TCase *t = tcase_create("life");
	tcase_add_test(t, cancelled_way_has_no_verdict);
	tcase_add_test(t, cancel_ends_the_worker);
	tcase_add_test(t, close_ends_what_is_under_way);
	tcase_add_test(t, second_start_replaces_the_first);
	tcase_add_test(t, many_plugins_of_one_content_share_an_entry);
	tcase_add_test(t, untouched_plugin_is_not_stale);
	tcase_add_test(t, changed_library_is_stale);
	tcase_add_test(t, vanished_library_is_stale);
	tcase_add_test(t, missing_library_that_comes_is_stale);
	tcase_add_test(t, missing_library_that_stays_away_is_not_stale);
	tcase_add_test(t, library_that_comes_beside_it_makes_it_stale);
	tcase_add_test(t, plugin_without_a_manifest_is_forgotten);
	return t;
}

static Suite *suite(void)
{
	TCase *cases[] = {verdict_cases(), file_cases(), cache_cases(), beside_cases(),
		life_cases()};
	Suite *s = suite_create("pipeline");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tcase_add_checked_fixture(cases[i], make, unmake);
		tcase_set_timeout(cases[i], 30);
		suite_add_tcase(s, cases[i]);
	}
	return s;
}

int main(void)
{
	SRunner *runner = srunner_create(suite());
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
