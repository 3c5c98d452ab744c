/* SPDX-License-Identifier: MIT */
/* Doing a plan: the reference of a shape first, then its rows. */
#include "daemon/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/bench_task.h"
#include "lib/file.h"

enum {
	LOST_MOST = 3,	       /* workers that nobody is to blame for */
	REFERENCE_MS = 120000, /* plain C on the largest shapes takes its time */
	UNKNOWN_CALL_MS = 1000,
};

struct bench {
	uv_loop_t *loop;
	struct pool *pool;
	struct bench_plan plan;
	struct bench_events events;
	uv_timer_t turn; /* begins the next step */
	json_t *runs;
	size_t at;	  /* row */
	size_t announced; /* row, or SIZE_MAX */
	struct pool_job *job;
	unsigned lost;
	bool cancelled, ended;

	/* What the worker has said. */
	json_t *report, *fault, *at_case;

	/* The reference's results for one shape. */
	size_t computed; /* shape, or SIZE_MAX */
	int results;	 /* sealed, readable only; -1: there are none */
	int writing;	 /* the same, while they are written */
	double call_ms;
};

static void take_turn(struct bench *bench);

/* ---- ends -------------------------------------------------------------------------- */

static void bench_free(struct bench *bench)
{
	bench_plan_finish(&bench->plan);
	json_decref(bench->runs);
	json_decref(bench->report);
	json_decref(bench->fault);
	json_decref(bench->at_case);
	kp_file_close(&bench->results);
	kp_file_close(&bench->writing);
	free(bench);
}

static void turn_closed(uv_handle_t *handle)
{
	bench_free(handle->data);
}

static void end(struct bench *bench, const struct kp_diag *diag)
{
	bench->ended = true;
	bench->events.ended(bench->events.context, bench->runs, diag);
	uv_close((uv_handle_t *)&bench->turn, turn_closed);
}

static void end_cancelled(struct bench *bench)
{
	struct kp_diag diag;

	kp_diag_set(&diag, "cancelled", bench->plan.family->operation,
		"the benchmark was cancelled");
	end(bench, &diag);
}

/* ---- workers ----------------------------------------------------------------------- */

static void on_line(void *context, json_t *line)
{
	struct bench *bench = context;
	json_t *report = json_object_get(line, "bench");
	json_t *fault = json_object_get(line, "fault");
	const json_t *failed = json_object_get(line, "failed");
	json_t *at = json_object_get(line, "case");

	if (json_is_object(failed))
		report = json_pack("{s:s, s:O}", "verdict", "error", "message",
			json_object_get(failed, "message"));
	else
		json_incref(report);
	if (json_is_object(report) && !bench->report)
		bench->report = report;
	else
		json_decref(report);
	if (json_is_object(fault) && !bench->fault)
		bench->fault = json_incref(fault);
	if (json_is_object(at)) {
		json_decref(bench->at_case);
		bench->at_case = json_incref(at);
	}
}

static void forget_words(struct bench *bench)
{
	json_decref(bench->report);
	json_decref(bench->fault);
	json_decref(bench->at_case);
	bench->report = bench->fault = bench->at_case = NULL;
}

static int submit(struct bench *bench, const char *task,
	const struct bench_source *source, int fd, double timeout_ms,
	void (*on_end)(void *context, const struct kp_worker_result *result))
{
	struct pool_request request = {
		.job = bench_job_json(
			&bench->plan, &bench->plan.rows[bench->at], task, source),
		.fds = {fd, -1, -1},
		.n_fds = fd >= 0 ? 1 : 0,
		.timeout_ms = (unsigned)timeout_ms,
		.alone = bench->lost > 0,
		.on_line = on_line,
		.on_end = on_end,
		.context = bench,
	};

	forget_words(bench);
	bench->job = request.job ? pool_submit(bench->pool, &request) : NULL;
	json_decref(request.job);
	return bench->job ? 0 : -1;
}

/* True when this step is over: cancelled, or to be done again. */
static bool is_over(struct bench *bench, const struct kp_worker_result *result)
{
	bench->job = NULL;
	if (bench->cancelled || result->end == KP_WORKER_CANCELLED) {
		end_cancelled(bench);
		return true;
	}
	if (result->end != KP_WORKER_LOST || ++bench->lost > LOST_MOST)
		return false;
	take_turn(bench);
	return true;
}

/* ---- the reference ------------------------------------------------------------------
 */

static void drop_results(struct bench *bench)
{
	kp_file_close(&bench->results);
	kp_file_close(&bench->writing);
}

/* Why this shape has nothing to be held against; said in each of its rows. */
static void say_trouble(struct bench *bench, const char *why)
{
	char **trouble = &bench->plan.trouble;

	if (asprintf(trouble, "the reference %s could not say what is right: %.1000s",
		    bench->plan.reference.id, why) < 0)
		*trouble = NULL;
}

static void forget_trouble(struct bench *bench)
{
	free(bench->plan.trouble);
	bench->plan.trouble = NULL;
}

/*
 * A kernel that is measured gets the results for reading, and nobody can change
 * them any more: what it does to them would be believed.
 */
static int seal_results(struct bench *bench)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	char path[64];

	if (fcntl(bench->writing, F_ADD_SEALS, seals) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", bench->writing);
	bench->results = open(path, O_RDONLY | O_CLOEXEC);
	kp_file_close(&bench->writing);
	return bench->results < 0 ? -1 : 0;
}

static void keep_results(struct bench *bench, const struct kp_worker_result *result)
{
	const char *message =
		json_string_value(json_object_get(bench->report, "message"));
	const json_t *call_ms = json_object_get(bench->report, "call_ms");

	if (result->end != KP_WORKER_DONE)
		say_trouble(bench, result->diag.message);
	else if (!bench->report || message)
		say_trouble(bench, message ? message : "it said nothing");
	else if (seal_results(bench) < 0)
		say_trouble(bench, strerror(errno));
	bench->call_ms =
		json_is_number(call_ms) ? json_number_value(call_ms) : UNKNOWN_CALL_MS;
	/* A worker's word: longer than its timeout no call was. */
	if (!(bench->call_ms >= 0 && bench->call_ms <= REFERENCE_MS))
		bench->call_ms = UNKNOWN_CALL_MS;
}

static void reference_end(void *context, const struct kp_worker_result *result)
{
	struct bench *bench = context;

	if (is_over(bench, result))
		return;
	bench->lost = 0;
	bench->computed = bench->plan.rows[bench->at].shape;
	keep_results(bench, result);
	if (bench->results < 0)
		drop_results(bench);
	take_turn(bench);
}

static int compute_reference(struct bench *bench)
{
	drop_results(bench);
	forget_trouble(bench);
	bench->writing = memfd_create("kplug-reference", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (bench->writing < 0)
		return -1;
	return submit(bench, "reference", &bench->plan.reference, bench->writing,
		REFERENCE_MS, reference_end);
}

/* ---- rows -------------------------------------------------------------------------- */

static void finish_row(struct bench *bench, const struct kp_worker_result *result)
{
	const struct bench_words words = {bench->report, bench->fault, bench->at_case};
	json_t *run = bench->plan.task->run(
		&bench->plan, &bench->plan.rows[bench->at], &words, result);
	struct kp_diag diag;

	bench->lost = 0;
	bench->at++;
	/* A result without a row would be a row that nobody misses. */
	if (!run || json_array_append(bench->runs, run) < 0) {
		json_decref(run);
		(void)kp_diag_no_memory(&diag);
		end(bench, &diag);
		return;
	}
	bench->events.row(bench->events.context, run);
	json_decref(run);
	take_turn(bench);
}

static void row_end(void *context, const struct kp_worker_result *result)
{
	struct bench *bench = context;

	if (!is_over(bench, result))
		finish_row(bench, result);
}

static int do_row(struct bench *bench)
{
	const struct bench_plan *plan = &bench->plan;
	const struct bench_row *row = &plan->rows[bench->at];

	if (row->verdict) {
		forget_words(bench);
		finish_row(bench, NULL);
		return 0;
	}
	if (plan->reference.stored && bench->computed != row->shape)
		return compute_reference(bench);
	return submit(bench, "measure", &row->source, bench->results,
		plan->task->timeout_ms(plan, row, bench->call_ms), row_end);
}

/* Once, also when its reference is computed first. */
static void announce(struct bench *bench)
{
	const struct bench_plan *plan = &bench->plan;

	if (bench->announced != bench->at)
		bench->events.begins(bench->events.context,
			plan->rows[bench->at].source.id, bench->at, plan->n_rows);
	bench->announced = bench->at;
}

static void step(uv_timer_t *timer)
{
	struct bench *bench = timer->data;
	const struct bench_plan *plan = &bench->plan;
	struct kp_diag diag;

	if (bench->cancelled) {
		end_cancelled(bench);
	} else if (bench->at == plan->n_rows) {
		end(bench, NULL);
	} else {
		announce(bench);
		/* Disabled is disabled, also while others are measured. */
		bench->events.look(bench->events.context, &bench->plan, bench->at);
		if (do_row(bench) < 0) {
			(void)kp_diag_no_memory(&diag);
			end(bench, &diag);
		}
	}
}

static void take_turn(struct bench *bench)
{
	(void)uv_timer_start(&bench->turn, step, 0, 0);
}

struct bench *bench_start(uv_loop_t *loop, struct pool *pool, struct bench_plan *plan,
	const struct bench_events *events)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	if (bench) {
		bench->runs = json_array();
		bench->results = bench->writing = -1;
	}
	if (!bench || !bench->runs || uv_timer_init(loop, &bench->turn) < 0) {
		bench_plan_finish(plan);
		if (bench)
			bench_free(bench);
		return NULL;
	}
	bench->loop = loop;
	bench->pool = pool;
	bench->plan = *plan;
	*plan = (struct bench_plan){0};
	if (!bench->plan.task)
		bench->plan.task = &bench_measuring;
	bench->events = *events;
	bench->computed = bench->announced = SIZE_MAX;
	bench->call_ms = UNKNOWN_CALL_MS;
	bench->turn.data = bench;
	take_turn(bench);
	return bench;
}

void bench_cancel(struct bench *bench)
{
	bench->cancelled = true;
	if (bench->job)
		pool_cancel(bench->job);
}
