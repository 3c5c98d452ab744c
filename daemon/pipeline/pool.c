/* SPDX-License-Identifier: MIT */
/* The queue of jobs, and the supervisors of those that run. */
#include "daemon/pipeline/pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "daemon/pipeline/job.h"
#include "daemon/pipeline/launcher.h"

enum {
	CLOSE_MS = 500, /* for the launcher to end all workers */
	RETRY_MS = 100, /* doubled with each failure in a row */
	RETRY_DOUBLINGS = 6,
	LONG_MS = 1000, /* then a job may hang: others begin beside it, ... */
	LONG_MOST = 12, /* but beside no more than so many */
};

TAILQ_HEAD(job_list, pool_job);

struct pool {
	uv_loop_t *loop;
	char *worker;
	size_t slots, running, started, lost;
	void (*ended)(
		void *context, const char *kind, const struct kp_worker_result *result);
	void *context;
	int64_t last_id;
	struct job_list queued, active;
	struct launcher *launcher;
	bool alone;	   /* what runs must */
	bool look;	   /* something in the queue has been cancelled */
	unsigned failures; /* of launchers in a row */
	int64_t retry_at;
	uv_timer_t turn;     /* looks at the queue: now, or when a launcher may start */
	uv_timer_t patience; /* with the launcher while closing */
	unsigned handles;
	bool closing;
	void (*closed)(void *context);
	void *closed_context;
};

static void on_turn(uv_timer_t *timer);

static void take_turn(struct pool *pool)
{
	if (!uv_is_closing((uv_handle_t *)&pool->turn))
		uv_timer_start(&pool->turn, on_turn, 0, 0);
}

/* ---- the launcher ---- */

static struct pool_job *find_active(struct pool *pool, const json_t *id)
{
	struct pool_job *job;
	for (job = TAILQ_FIRST(&pool->active); job; job = TAILQ_NEXT(job, link))
		if (json_is_integer(id) && job->id == json_integer_value(id))
			return job;
	return NULL;
}

static void on_message(void *context, const json_t *message)
{
	struct pool *pool = context;
	struct pool_job *job;
	struct kp_diag diag;
	if ((job = find_active(pool, json_object_get(message, "started")))) {
		job_take_start(job);
	} else if ((job = find_active(pool, json_object_get(message, "ended")))) {
		pool->failures = 0;
		job_take_end(job,
			(int)json_integer_value(json_object_get(message, "status")),
			json_is_true(json_object_get(message, "lingered")));
	} else if ((job = find_active(pool, json_object_get(message, "lost")))) {
		const char *why = json_string_value(json_object_get(message, "message"));
		kp_diag_set(&diag, "worker_lost", NULL, "%s", why ? why : "");
		job_lose(job, &diag);
	} else if ((job = find_active(pool, json_object_get(message, "bereaved")))) {
		job_bereave(job, false);
	} else if ((job = find_active(pool, json_object_get(message, "refused")))) {
		const char *text = json_string_value(json_object_get(message, "text"));
		job_refuse(job, text ? text : "",
			json_is_true(json_object_get(message, "deadly")));
	}
}

static void count_failure(struct pool *pool)
{
	unsigned doublings =
		pool->failures < RETRY_DOUBLINGS ? pool->failures : RETRY_DOUBLINGS;
	pool->retry_at = (int64_t)uv_now(pool->loop) + ((int64_t)RETRY_MS << doublings);
	pool->failures++;
}

static void on_launcher_ended(void *context, bool by_us)
{
	struct pool *pool = context;
	pool->launcher = NULL;
	if (!pool->closing) {
		pool->lost++;
		count_failure(pool);
	}
	for (struct pool_job *job; (job = TAILQ_FIRST(&pool->active));) {
		/* It died while this one ran before, and now nothing else did. */
		if (job->request.alone && !by_us)
			job_bereave(job, true);
		else
			job_lose(job, NULL);
	}
	take_turn(pool);
}

static const struct launcher_events launcher_events = {
	.message = on_message,
	.ended = on_launcher_ended,
};

/* What cannot run now is told so: whoever asked decides about another try. */
static void have_launcher(struct pool *pool)
{
	struct kp_diag diag;
	struct pool_job *job;
	pool->launcher =
		launcher_start(pool->loop, pool->worker, &launcher_events, pool, &diag);
	if (pool->launcher)
		return;
	count_failure(pool);
	size_t count = 0;
	for (job = TAILQ_FIRST(&pool->queued); job; job = TAILQ_NEXT(job, link))
		count++;
	/* Only those: an on_end may submit again. */
	while (count-- > 0 && (job = TAILQ_FIRST(&pool->queued)))
		job_lose(job, &diag);
}

/* ---- the pool ---- */

static void on_pool_handle_closed(uv_handle_t *handle)
{
	struct pool *pool = handle->data;
	if (--pool->handles > 0)
		return;
	void (*closed)(void *) = pool->closed;
	void *context = pool->closed_context;
	free(pool->worker);
	free(pool);
	if (closed)
		closed(context);
}

static void turn_to_close(struct pool *pool)
{
	for (struct pool_job *job; (job = TAILQ_FIRST(&pool->queued));) {
		job->cancelled = true;
		job_lose(job, NULL);
	}
	if (pool->launcher || pool->running > 0)
		return;
	uv_close((uv_handle_t *)&pool->turn, on_pool_handle_closed);
	uv_close((uv_handle_t *)&pool->patience, on_pool_handle_closed);
}

static void start(struct pool *pool, struct pool_job *job)
{
	TAILQ_REMOVE(&pool->queued, job, link);
	TAILQ_INSERT_TAIL(&pool->active, job, link);
	pool->running++;
	pool->started++;
	pool->alone = job->request.alone;
	job_start(job, pool->loop, pool->launcher);
}

static size_t count_long(const struct pool *pool)
{
	uint64_t now = uv_now(pool->loop);
	const struct pool_job *job;
	size_t count = 0;

	TAILQ_FOREACH (job, &pool->active, link)
		count += now - job->began_ms >= LONG_MS;
	return count < LONG_MOST ? count : LONG_MOST;
}

static bool has_room(const struct pool *pool, const struct pool_job *job)
{
	if (pool->running == 0 || pool->alone || job->request.alone)
		return pool->running == 0;
	return pool->running < pool->slots ||
	       pool->running - count_long(pool) < pool->slots;
}

static void on_turn(uv_timer_t *timer)
{
	struct pool *pool = timer->data;
	struct pool_job *job;
	struct pool_job *next;
	/* Not each turn: a queue of thousands is long. */
	for (job = pool->look ? TAILQ_FIRST(&pool->queued) : NULL; job; job = next) {
		next = TAILQ_NEXT(job, link);
		if (job->cancelled)
			job_lose(job, NULL);
	}
	pool->look = false;
	if (pool->closing) {
		turn_to_close(pool);
		return;
	}
	int64_t wait = pool->retry_at - (int64_t)uv_now(pool->loop);
	if (!pool->launcher && !TAILQ_EMPTY(&pool->queued)) {
		if (wait > 0) {
			uv_timer_start(&pool->turn, on_turn, (uint64_t)wait, 0);
			return;
		}
		have_launcher(pool);
	}
	while (pool->launcher && (job = TAILQ_FIRST(&pool->queued)) &&
		has_room(pool, job))
		start(pool, job);
	if (!pool->launcher && !TAILQ_EMPTY(&pool->queued))
		take_turn(pool);
	else if (!TAILQ_EMPTY(&pool->queued))
		uv_timer_start(&pool->turn, on_turn, LONG_MS / 2, 0);
}

struct pool *pool_new(uv_loop_t *loop, const struct pool_options *options)
{
	struct pool *pool = calloc(1, sizeof(*pool));
	char *worker = strdup(options->worker);
	if (!pool || !worker) {
		free(pool);
		free(worker);
		return NULL;
	}
	pool->loop = loop;
	pool->worker = worker;
	pool->slots = options->slots ? options->slots : 1;
	pool->ended = options->ended;
	pool->context = options->context;
	TAILQ_INIT(&pool->queued);
	TAILQ_INIT(&pool->active);
	uv_timer_init(loop, &pool->turn);
	uv_timer_init(loop, &pool->patience);
	pool->handles = 2;
	pool->turn.data = pool->patience.data = pool;
	return pool;
}

static void on_job_ended(struct pool_job *job, const struct kp_worker_result *result)
{
	const char *kind = json_string_value(json_object_get(job->request.job, "kind"));

	if (job->started && job->pool->ended && kind)
		job->pool->ended(job->pool->context, kind, result);
	TAILQ_REMOVE(job->started ? &job->pool->active : &job->pool->queued, job, link);
}

static void on_job_gone(struct pool *pool)
{
	pool->running--;
	take_turn(pool);
}

struct pool_job *pool_submit(struct pool *pool, const struct pool_request *request)
{
	struct pool_job *job =
		pool->closing ? NULL : job_new(pool, ++pool->last_id, request);
	if (!job)
		return NULL;
	job->ended = on_job_ended;
	job->gone = on_job_gone;
	TAILQ_INSERT_TAIL(&pool->queued, job, link);
	take_turn(pool);
	return job;
}

void pool_cancel(struct pool_job *job)
{
	job_cancel(job);
	if (job->started)
		return;
	job->pool->look = true;
	take_turn(job->pool);
}

size_t pool_running(const struct pool *pool)
{
	return pool->running;
}

size_t pool_started(const struct pool *pool)
{
	return pool->started;
}

size_t pool_lost(const struct pool *pool)
{
	return pool->lost;
}

static void on_patience_over(uv_timer_t *timer)
{
	struct pool *pool = timer->data;
	if (pool->launcher)
		launcher_kill(pool->launcher);
}

void pool_close(struct pool *pool, void (*closed)(void *context), void *context)
{
	struct pool_job *job;
	if (pool->closing)
		return;
	pool->closing = true;
	pool->closed = closed;
	pool->closed_context = context;
	for (job = TAILQ_FIRST(&pool->active); job; job = TAILQ_NEXT(job, link))
		pool_cancel(job);
	if (pool->launcher) {
		launcher_hang_up(pool->launcher);
		uv_timer_start(&pool->patience, on_patience_over, CLOSE_MS, 0);
	}
	take_turn(pool);
}
