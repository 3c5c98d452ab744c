/* SPDX-License-Identifier: MIT */
/*
 * The pipeline in a place of its own, with workers that are played: what they
 * answer is set by the test, how often they were asked is counted. Included by
 * the one file of a test program: it takes the place of daemon/pipeline/pool.h.
 */
#ifndef KP_TESTS_PLAYED_WORKERS_H
#define KP_TESTS_PLAYED_WORKERS_H

#include "daemon/pipeline/pipeline.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/store/digest.h"
#include "daemon/store/tree.h"
#include "lib/base/file.h"
#include "lib/base/trust.h"
#include "tests/support/suite.h"

/* ---- the workers ------------------------------------------------------------------ */

struct pool {
	size_t identifies, probes;
	enum kp_worker_end probe_end; /* of the first `ends` probes */
	size_t ends;
	size_t spoils;	     /* so many probes find the library cut, and die */
	json_t *elf, *needs; /* of the next identify; NULL: the plain ones */
	const char *failed;  /* code of the plugin's identify, or NULL */
	const char *probe_failed;
	const char *part_failed; /* of a library that is not the plugin's */
	char probed[512];	 /* path that was probed last */
	bool hold;		 /* probes do not end */
	size_t cancelled;
	size_t alone;		   /* probes that were to run alone */
	void (*identifying)(void); /* while the copy is nobody else's; or NULL */
};

struct pool_job {
	struct pool *pool;
	uv_timer_t timer;
	struct pool_request request;
	bool cancelled;
};

static const char plain_note[] =
	"{\"name\":\"x\",\"version\":\"1.0.0\",\"kernels\":[{\"name\":\"mm\"}]}";

static inline void job_gone(uv_handle_t *handle)
{
	struct pool_job *job = handle->data;
	json_decref(job->request.job);
	free(job);
}

static inline void tell(struct pool_job *job, json_t *line)
{
	job->request.on_line(job->request.context, line);
	json_decref(line);
}

static inline void tell_failed(struct pool_job *job, const char *code, const char *state)
{
	tell(job, json_pack("{s:{s:s, s:s, s:s}, s:s}", "failed", "code", code, "message",
			  "so it is", "object", "", "state", state));
}

static inline bool is_part(const json_t *file)
{
	return strstr(json_string_value(json_object_get(file, "file")), "liby") != NULL;
}

static inline void identify_file(struct pool_job *job, const json_t *file)
{
	struct pool *pool = job->pool;
	pool->identifies++;
	if (pool->identifying)
		pool->identifying();
	if (is_part(file)) {
		ck_assert(json_is_true(json_object_get(file, "part")));
		if (pool->part_failed)
			tell_failed(job, pool->part_failed, "rejected");
		else
			tell(job, json_pack("{s:{s:[]}}", "elf", "needed"));
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

static inline void identify(struct pool_job *job)
{
	const json_t *files = json_object_get(job->request.job, "files");
	size_t i;
	json_t *file;
	ck_assert_uint_eq(job->request.n_fds, files ? json_array_size(files) : 1);
	if (!files)
		identify_file(job, job->request.job);
	json_array_foreach (files, i, file) {
		tell(job, json_pack("{s:i}", "begin", (int)i));
		identify_file(job, file);
		tell(job, json_pack("{s:f}", "took_ms", 1.0));
	}
}

static inline enum kp_worker_end probe(struct pool_job *job)
{
	struct pool *pool = job->pool;
	pool->probes++;
	pool->alone += job->request.alone;
	snprintf(pool->probed, sizeof(pool->probed), "%s",
		json_string_value(json_object_get(job->request.job, "stored")));
	if (pool->probes <= pool->ends)
		return pool->probe_end;
	if (pool->probes <= pool->spoils) {
		ck_assert_int_eq(chmod(pool->probed, 0644), 0);
		ck_assert_int_eq(truncate(pool->probed, 1), 0);
		return KP_WORKER_KILLED;
	}
	tell(job, json_pack("{s:s}", "stage", "load"));
	if (pool->probe_failed) {
		tell_failed(job, pool->probe_failed, "failed");
		return KP_WORKER_DONE;
	}
	tell(job, json_pack("{s:s}", "stage", "probe kernel mm"));
	tell(job, json_pack("{s:s, s:b}", "kernel", "mm", "available", 1));
	return KP_WORKER_DONE;
}

static inline void end(struct pool_job *job, enum kp_worker_end how)
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

static inline void run_job(uv_timer_t *timer)
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
static bool serves_all; /* as a system daemon's */
static bool any_files;	/* whosever they are */
static struct kp_diag diag;

static inline void make(void)
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

static inline void unmake(void)
{
	kp_verdict_finish(&verdict);
	json_decref(workers.elf);
	json_decref(workers.needs);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
	ck_assert_int_eq(tree_remove(AT_FDCWD, root), 0);
}

static inline void done(
	void *context, const char *plugin, const char *digest, struct kp_verdict *given)
{
	(void)context;
	kp_verdict_finish(&verdict);
	verdict = *given;
	verdicts++;
	snprintf(verdict_of, sizeof(verdict_of), "%s", plugin);
	snprintf(verdict_manifest, sizeof(verdict_manifest), "%s", digest);
}

static inline void start(void)
{
	static struct kp_trust trust;
	trust = (struct kp_trust){.owner = geteuid(), .group = KP_TRUST_NO_GROUP};
	const struct pipeline_options options = {plugin_dir, store_dir, cache_dir,
		platform, .system = serves_all, .trust = &trust, .any_files = any_files};
	pipeline = pipeline_new(&loop, &workers, &options, done, NULL);
	ck_assert_ptr_nonnull(pipeline);
}

static inline void closed(void *context)
{
	*(bool *)context = true;
}

static inline void stop(void)
{
	bool over = false;
	pipeline_close(pipeline, closed, &over);
	uv_run(&loop, UV_RUN_DEFAULT);
	ck_assert(over);
}

static inline void age(const char *path)
{
	struct timespec times[2] = {
		{.tv_sec = time(NULL) - 60}, {.tv_sec = time(NULL) - 60}};
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A library that nobody is writing; the path is valid until the next call. */
static inline const char *library(const char *name, const char *text)
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

static inline struct kp_manifest manifest(const char *file)
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
static inline void wait_verdict(void)
{
	size_t before = verdicts;
	while (verdicts == before && uv_run(&loop, UV_RUN_ONCE))
		;
	ck_assert_uint_eq(verdicts, before + 1);
}

static inline void go(const struct kp_manifest *m, bool fresh)
{
	ck_assert_int_eq(pipeline_start(pipeline, m, fresh), 0);
	wait_verdict();
}

/* A whole life of a pipeline, for one plugin. */
static inline void once_more(const char *file)
{
	struct kp_manifest m = manifest(file);
	start();
	go(&m, false);
	stop();
	kp_manifest_finish(&m);
}

static inline void expect(enum kp_state state, const char *code)
{
	ck_assert_msg(verdict.state == state, "%s: %s: %s", kp_state_name(verdict.state),
		verdict.code, verdict.message ? verdict.message : "");
	ck_assert_str_eq(verdict.code, code);
}

static inline void expect_said(const char *text)
{
	ck_assert_msg(strstr(verdict.message, text) != NULL, "%s", verdict.message);
}

static inline void expect_asked(size_t identifies, size_t probes)
{
	ck_assert_uint_eq(workers.identifies, identifies);
	ck_assert_uint_eq(workers.probes, probes);
}

/* Its next library needs liby.so. */
static inline void bring(const char *runpath)
{
	json_decref(workers.elf);
	workers.elf = json_pack("{s:[s, s], s:[s]}", "needed", "libc.so.6", "liby.so",
		"runpath", runpath);
}

/* Runs the cases of a suite, each in a place of its own. */
static inline int run_cases(const char *name, const TTest *const *tests, size_t count)
{
	Suite *suite = suite_create(name);
	TCase *cases = tcase_create(name);
	tcase_add_checked_fixture(cases, make, unmake);
	tcase_set_timeout(cases, 30);
	for (size_t i = 0; i < count; i++)
		tcase_add_test(cases, tests[i]);
	suite_add_tcase(suite, cases);
	return suite_run(suite);
}

#endif
