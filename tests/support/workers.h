/* SPDX-License-Identifier: MIT */
/*
 * A loop with a pool of real workers, and jobs over the fixtures. All of it is in
 * the header, since a test that plays the pool itself must not link the real one.
 */
#ifndef TESTS_SUPPORT_WORKERS_H
#define TESTS_SUPPORT_WORKERS_H

#include <check.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "daemon/pipeline/pool.h"

struct workers {
	uv_loop_t loop;
	struct pool *pool;
	int closed;
};

/* What came of a job. */
struct outcome {
	json_t *lines;	 /* array */
	unsigned ends;	 /* calls of on_end */
	bool alone;	 /* set before it is submitted: pool_request */
	uv_loop_t *loop; /* is stopped with every line and end */
	struct kp_worker_result result;
};

enum { PATIENCE_MS = 60000 };

/* Path of a program or file below the build directory. */
static inline const char *workers_path(const char *name, char path[PATH_MAX])
{
	const char *build = getenv("KPLUG_BUILD");
	char relative[PATH_MAX];
	snprintf(relative, sizeof(relative), "%s/%s", build ? build : "build", name);
	if (!realpath(relative, path))
		ck_abort_msg("%s is not built", relative);
	return path;
}

/* This and workers_stop end the test when something fails. */
static inline void workers_start(struct workers *workers, size_t slots)
{
	char path[PATH_MAX];
	struct pool_options options = {
		.worker = workers_path("plugin-worker", path), .slots = slots};
	ck_assert_int_eq(uv_loop_init(&workers->loop), 0);
	workers->closed = 0;
	workers->pool = pool_new(&workers->loop, &options);
	ck_assert_ptr_nonnull(workers->pool);
}

static inline void workers_on_closed(void *context)
{
	((struct workers *)context)->closed++;
}

/* Ends of jobs stop the loop: runs it until nothing is left in it. */
static inline void workers_run_out(struct workers *workers)
{
	while (uv_run(&workers->loop, UV_RUN_DEFAULT))
		continue;
}

/* Closes pool and loop. */
static inline void workers_stop(struct workers *workers)
{
	pool_close(workers->pool, workers_on_closed, workers);
	ck_assert_int_eq(workers->closed, 0);
	workers_run_out(workers);
	ck_assert_int_eq(workers->closed, 1);
	ck_assert_int_eq(uv_loop_close(&workers->loop), 0);
}

static inline void outcome_init(struct outcome *outcome)
{
	*outcome = (struct outcome){.lines = json_array()};
	ck_assert_ptr_nonnull(outcome->lines);
}

static inline void outcome_finish(struct outcome *outcome)
{
	json_decref(outcome->lines);
}

/* The value of a key in the first line that has it, or NULL. */
static inline const json_t *outcome_value(const struct outcome *outcome, const char *key)
{
	for (size_t i = 0; i < json_array_size(outcome->lines); i++) {
		const json_t *value =
			json_object_get(json_array_get(outcome->lines, i), key);
		if (value)
			return value;
	}
	return NULL;
}

static inline const char *failed_text(const struct outcome *outcome, const char *key)
{
	const char *text =
		json_string_value(json_object_get(outcome_value(outcome, "failed"), key));
	return text ? text : "";
}

/* The code of what failed; "" when nothing did. */
static inline const char *outcome_failed(const struct outcome *outcome)
{
	return failed_text(outcome, "code");
}

static inline const char *outcome_message(const struct outcome *outcome)
{
	return failed_text(outcome, "message");
}

static inline void workers_on_line(void *context, json_t *line)
{
	struct outcome *outcome = context;
	ck_assert_uint_eq(outcome->ends, 0);
	json_array_append(outcome->lines, line);
	uv_stop(outcome->loop);
}

static inline void workers_on_end(void *context, const struct kp_worker_result *result)
{
	struct outcome *outcome = context;
	outcome->ends++;
	outcome->result = *result;
	uv_stop(outcome->loop);
}

static inline bool is_kind(const json_t *job, const char *kind)
{
	const char *text = json_string_value(json_object_get(job, "kind"));
	return text && strcmp(text, kind) == 0;
}

/* Takes job. fd is passed with it when it is not negative. */
static inline struct pool_job *workers_submit(struct workers *workers, json_t *job,
	int fd, unsigned timeout_ms, struct outcome *outcome)
{
	struct pool_request request = {
		.job = job,
		.fds = {fd},
		.n_fds = fd >= 0,
		.timeout_ms = timeout_ms,
		.identifies = is_kind(job, "identify"),
		.kernels = 2,
		.alone = outcome->alone,
		.on_line = workers_on_line,
		.on_end = workers_on_end,
		.context = outcome,
	};
	ck_assert_ptr_nonnull(job);
	outcome->loop = &workers->loop;
	struct pool_job *submitted = pool_submit(workers->pool, &request);
	ck_assert_ptr_nonnull(submitted);
	ck_assert_uint_eq(outcome->ends, 0);
	json_decref(job);
	return submitted;
}

/* Until handles of jobs that have ended are closed, too. */
static inline void workers_settle(struct workers *workers)
{
	while (pool_running(workers->pool) > 0)
		uv_run(&workers->loop, UV_RUN_NOWAIT);
}

/* Runs the loop until the job has ended. */
static inline void workers_wait(struct workers *workers, const struct outcome *outcome)
{
	while (outcome->ends == 0) {
		bool more = uv_run(&workers->loop, UV_RUN_DEFAULT) != 0;
		ck_assert(more || outcome->ends);
	}
	ck_assert_uint_eq(outcome->ends, 1);
}

static inline const char *fixture_path(const char *fixture, char path[PATH_MAX])
{
	char name[256];
	snprintf(name, sizeof(name), "tests/fixtures/%s.so", fixture);
	return workers_path(name, path);
}

static inline struct pool_job *workers_submit_identify(
	struct workers *workers, const char *fixture, struct outcome *outcome)
{
	char path[PATH_MAX];
	int fd = open(fixture_path(fixture, path), O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	struct pool_job *job = workers_submit(workers,
		json_pack("{s:s, s:s}", "kind", "identify", "file", path), fd,
		PATIENCE_MS, outcome);
	close(fd);
	return job;
}

static inline void workers_identify(
	struct workers *workers, const char *fixture, struct outcome *outcome)
{
	workers_submit_identify(workers, fixture, outcome);
	workers_wait(workers, outcome);
}

/* Probes the library at `path` by the note of a fixture, which is identified first. */
static inline struct pool_job *workers_submit_probe_of(struct workers *workers,
	const char *path, const char *fixture, int fd, unsigned timeout_ms,
	struct outcome *outcome)
{
	struct outcome identified;
	outcome_init(&identified);
	workers_identify(workers, fixture, &identified);
	json_t *note = (json_t *)outcome_value(&identified, "note");
	ck_assert_ptr_nonnull(note);
	json_t *job = json_pack("{s:s, s:s, s:O, s:s}", "kind", "probe", "stored", path,
		"note", note, "file", path);
	outcome_finish(&identified);
	return workers_submit(workers, job, fd, timeout_ms, outcome);
}

static inline struct pool_job *workers_submit_probe(struct workers *workers,
	const char *fixture, int fd, unsigned timeout_ms, struct outcome *outcome)
{
	char path[PATH_MAX];
	return workers_submit_probe_of(
		workers, fixture_path(fixture, path), fixture, fd, timeout_ms, outcome);
}

static inline void workers_probe(
	struct workers *workers, const char *fixture, struct outcome *outcome)
{
	workers_submit_probe(workers, fixture, -1, PATIENCE_MS, outcome);
	workers_wait(workers, outcome);
}

#endif
