/* SPDX-License-Identifier: MIT */
/* Doing a plan: the reference of a shape first, then its rows. */
#include "daemon/bench/bench.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/bench/bench_course.h"
#include "daemon/bench/bench_reference.h"
#include "daemon/bench/bench_task.h"

enum {
	LOST_MOST = 3, /* workers that nobody is to blame for */
};

struct bench {
	uv_loop_t *loop;
	struct pool *pool;
	struct bench_plan plan;
	struct bench_events events;
	uv_timer_t turn; /* begins the next step */
	json_t *runs;
	struct bench_course course;
	size_t at;	    /* row */
	size_t done, total; /* steps: a round of a row */
	size_t measured;    /* steps that were really done */
	size_t announced;   /* step, or SIZE_MAX */
	struct pool_job *job;
	unsigned lost;
	bool cancelled, ended;

	/* What the worker has said. */
	json_t *report, *fault, *samples, *at_case;

	struct bench_reference reference;
};

static void take_turn(struct bench *bench);

/* ---- ends -------------------------------------------------------------------------- */

static void bench_free(struct bench *bench)
{
	bench_plan_finish(&bench->plan);
	json_decref(bench->runs);
	json_decref(bench->report);
	json_decref(bench->fault);
	json_decref(bench->samples);
	json_decref(bench->at_case);
	bench_reference_drop(&bench->reference);
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

/* ---- plans ------------------------------------------------------------------------- */

static void begin_plan(struct bench *bench)
{
	if (!bench->plan.task)
		bench->plan.task = &bench_measuring;
	bench_reference_init(&bench->reference);
	bench_course_start(&bench->course, &bench->plan);
	bench->at = bench_course_row(&bench->course);
}

static size_t count_steps(const struct bench_plan *plan)
{
	size_t steps = 0;

	for (; plan; plan = plan->next)
		steps += plan->n_rows * bench_rounds(plan);
	return steps;
}

/* ---- workers ----------------------------------------------------------------------- */

static void on_line(void *context, json_t *line)
{
	struct bench *bench = context;
	json_t *report = json_object_get(line, "bench");
	json_t *fault = json_object_get(line, "fault");
	const json_t *failed = json_object_get(line, "failed");
	json_t *samples = json_object_get(line, "samples_ps");
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
	if (json_is_array(samples) && !bench->samples)
		bench->samples = json_incref(samples);
	else if (json_is_array(samples))
		(void)json_array_extend(bench->samples, samples);
	if (json_is_object(at)) {
		json_decref(bench->at_case);
		bench->at_case = json_incref(at);
	}
}

static void forget_words(struct bench *bench)
{
	json_decref(bench->report);
	json_decref(bench->fault);
	json_decref(bench->samples);
	json_decref(bench->at_case);
	bench->report = bench->fault = bench->samples = bench->at_case = NULL;
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

static void reference_end(void *context, const struct kp_worker_result *result)
{
	struct bench *bench = context;

	if (is_over(bench, result))
		return;
	bench->lost = 0;
	bench_reference_keep(&bench->reference, &bench->plan,
		bench->plan.rows[bench->at].shape, bench->report, result);
	take_turn(bench);
}

static int compute_reference(struct bench *bench)
{
	if (bench_reference_open(&bench->reference, &bench->plan) < 0)
		return -1;
	return submit(bench, "reference", &bench->plan.reference,
		bench->reference.writing, BENCH_REFERENCE_MS, reference_end);
}

/* ---- rows -------------------------------------------------------------------------- */

static void fail(struct bench *bench)
{
	struct kp_diag diag;

	(void)kp_diag_no_memory(&diag);
	end(bench, &diag);
}

/* The rows of a shape, in order, and each beside the others. */
static int tell_shape(struct bench *bench)
{
	const struct bench_course *course = &bench->course;
	struct bench_row *rows = bench->plan.rows;

	if (bench->plan.task->compare)
		bench->plan.task->compare(
			rows + course->first, course->end - course->first);
	for (size_t i = course->first; i < course->end; i++) {
		if (json_array_append(bench->runs, rows[i].run) < 0)
			return -1;
		bench->events.row(bench->events.context, rows[i].run);
		json_decref(rows[i].run);
		rows[i].run = NULL;
	}
	return 0;
}

static void next_plan(struct bench *bench)
{
	struct bench_plan *next = bench->plan.next;

	bench->plan.next = NULL;
	bench_plan_finish(&bench->plan);
	bench_reference_drop(&bench->reference);
	bench->plan = *next;
	free(next);
	begin_plan(bench);
}

/* On to the next row that is not done yet, or to the end. */
static void advance(struct bench *bench)
{
	do {
		bench->done++;
		if (bench_course_next(&bench->course))
			continue;
		if (tell_shape(bench) < 0) {
			fail(bench);
			return;
		}
		if (bench_course_next_shape(&bench->course))
			continue;
		if (!bench->plan.next) {
			end(bench, NULL);
			return;
		}
		next_plan(bench);
	} while (bench->plan.rows[bench_course_row(&bench->course)].run);
	bench->at = bench_course_row(&bench->course);
	take_turn(bench);
}

static void note_order(struct bench *bench, struct bench_row *row)
{
	if (!row->taken.order)
		row->taken.order = json_array();
	(void)json_array_append_new(
		row->taken.order, json_integer((json_int_t)bench->measured++));
}

static void finish_row(struct bench *bench, const struct kp_worker_result *result)
{
	const struct bench_plan *plan = &bench->plan;
	struct bench_row *row = &plan->rows[bench->at];
	const struct bench_words words = {
		bench->report, bench->fault, bench->at_case, bench->samples};

	bench->lost = 0;
	if (result)
		note_order(bench, row);
	bool is_kept =
		result && plan->task->keep && plan->task->keep(plan, row, &words, result);
	if (!is_kept || bench_course_is_last_round(&bench->course)) {
		row->run = plan->task->run(plan, row, &words, result);
		/* A result without a row would be a row that nobody misses. */
		if (!row->run) {
			fail(bench);
			return;
		}
	}
	advance(bench);
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
	if (plan->reference.stored && bench->reference.shape != row->shape)
		return compute_reference(bench);
	return submit(bench, "measure", &row->source, bench->reference.results,
		plan->task->timeout_ms(plan, row, bench->reference.call_ms), row_end);
}

/* Once, also when its reference is computed first. */
static void announce(struct bench *bench)
{
	const struct bench_plan *plan = &bench->plan;

	if (bench->announced != bench->done)
		bench->events.begins(bench->events.context,
			plan->rows[bench->at].source.id, bench->done, bench->total);
	bench->announced = bench->done;
}

static void step(uv_timer_t *timer)
{
	struct bench *bench = timer->data;

	if (bench->cancelled) {
		end_cancelled(bench);
		return;
	}
	announce(bench);
	/* Disabled is disabled, also while others are measured. */
	bench->events.look(bench->events.context, &bench->plan, bench->at);
	if (do_row(bench) < 0)
		fail(bench);
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
		bench_reference_init(&bench->reference);
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
	bench->events = *events;
	bench->announced = SIZE_MAX;
	bench->total = count_steps(&bench->plan);
	begin_plan(bench);
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

bool bench_is_cancelled(const struct bench *bench)
{
	return bench->cancelled;
}
