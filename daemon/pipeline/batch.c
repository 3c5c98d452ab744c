/* SPDX-License-Identifier: MIT */
/* Gathers what waits while batches run, and gives each item its own lines and end. */
#include "daemon/pipeline/batch.h"

#include <stdlib.h>

#include "lib/base/file.h"
#include "lib/base/json.h"

struct batch;

struct batch_item {
	TAILQ_ENTRY(batch_item) link;
	struct batches *batches;
	struct batch *batch;	/* while it runs with others */
	struct pool_job *alone; /* while it runs by itself */
	struct pool_request request;
	bool cancelled;
	json_t *lines; /* until the batch has ended */
	double took_ms;
};

struct batch {
	struct batches *batches;
	struct pool_job *job;
	size_t count, begun, done;
	bool disorder;
	struct batch_item *items[BATCH_MOST];
};

void batches_init(struct batches *batches, struct pool *pool)
{
	*batches = (struct batches){.pool = pool};
	TAILQ_INIT(&batches->waiting);
}

/* ---- items --------------------------------------------------------------------- */

static void item_free(struct batch_item *item)
{
	json_decref(item->request.job);
	json_decref(item->lines);
	kp_file_close(&item->request.fds[0]);
	free(item);
}

/* It is gone for its owner from here on. */
static void item_end(struct batch_item *item, const struct kp_worker_result *result)
{
	/* Before the owner may remove it: see pool_job's end. */
	kp_file_close(&item->request.fds[0]);
	item->request.on_end(item->request.context, result);
	item_free(item);
}

static void end_cancelled(struct batch_item *item)
{
	struct kp_worker_result result = {.end = KP_WORKER_CANCELLED, .exit = -1};

	kp_diag_set(&result.diag, "cancelled", NULL, "cancelled while others went on");
	item_end(item, &result);
}

static void end_lost(struct batch_item *item)
{
	struct kp_worker_result result = {.end = KP_WORKER_LOST, .exit = -1};

	kp_diag_set(&result.diag, "worker_lost", NULL,
		"no worker could be asked: memory is exhausted, or plugind ends");
	item_end(item, &result);
}

/* ---- alone --------------------------------------------------------------------- */

static void on_alone_line(void *context, json_t *line)
{
	struct batch_item *item = context;

	item->request.on_line(item->request.context, line);
}

static void on_alone_end(void *context, const struct kp_worker_result *result)
{
	item_end(context, result);
}

static bool run_alone(struct batch_item *item)
{
	struct pool_request request = item->request;

	request.on_line = on_alone_line;
	request.on_end = on_alone_end;
	request.context = item;
	item->batch = NULL;
	item->alone = pool_submit(item->batches->pool, &request);
	return item->alone != NULL;
}

/* ---- what a worker of several says ----------------------------------------------- */

/* {"begin": i}: what follows is about item i. */
static void begin_item(struct batch *batch, const json_t *number)
{
	batch->disorder |= batch->begun != batch->done || batch->begun >= batch->count ||
			   json_integer_value(number) != (json_int_t)batch->begun;
	batch->begun++;
}

/* {"took_ms": t}: it is done. */
static void end_item(struct batch *batch, const json_t *took)
{
	batch->disorder |= batch->begun != batch->done + 1;
	if (batch->disorder)
		return;
	batch->items[batch->done++]->took_ms = json_number_value(took);
}

static void keep_line(struct batch *batch, json_t *line)
{
	batch->disorder |= batch->begun != batch->done + 1;
	if (!batch->disorder &&
		json_array_append(batch->items[batch->done]->lines, line) < 0)
		batch->disorder = true;
}

static void on_line(void *context, json_t *line)
{
	struct batch *batch = context;
	const json_t *begin = json_object_get(line, "begin");
	const json_t *took = json_object_get(line, "took_ms");

	if (batch->disorder)
		return;
	if (begin)
		begin_item(batch, begin);
	else if (took)
		end_item(batch, took);
	else
		keep_line(batch, line);
}

/* ---- sending ------------------------------------------------------------------- */

static bool add_file(struct batch_item *item, json_t *files)
{
	const json_t *job = item->request.job;

	item->lines = json_array();
	return item->lines &&
	       json_array_append_new(files,
		       json_pack("{s:O, s:O}", "file", json_object_get(job, "file"),
			       "part", json_object_get(job, "part"))) == 0;
}

static void on_end(void *context, const struct kp_worker_result *result);

/* False: memory, or the pool is closing. */
static bool run(struct batch *batch)
{
	struct pool_request request = {.timeout_ms = BATCH_MS,
		.identifies = true,
		.n_fds = batch->count,
		.on_line = on_line,
		.on_end = on_end,
		.context = batch};
	json_t *files = json_array();
	bool made = files != NULL;

	for (size_t i = 0; made && i < batch->count; i++) {
		made = add_file(batch->items[i], files);
		request.fds[i] = batch->items[i]->request.fds[0];
	}
	request.job =
		made ? json_pack("{s:s, s:O}", "kind", "identify", "files", files) : NULL;
	json_decref(files);
	if (request.job)
		batch->job = pool_submit(batch->batches->pool, &request);
	json_decref(request.job);
	batch->batches->running += batch->job != NULL;
	return batch->job != NULL;
}

static void add_item(struct batch *batch, struct batch_item *item)
{
	TAILQ_REMOVE(&batch->batches->waiting, item, link);
	item->batch = batch;
	batch->items[batch->count++] = item;
}

/* NULL: memory. */
static struct batch *gather(struct batches *batches)
{
	struct batch *batch = calloc(1, sizeof(*batch));
	struct batch_item *item;

	if (!batch)
		return NULL;
	batch->batches = batches;
	while (batch->count < BATCH_MOST && (item = TAILQ_FIRST(&batches->waiting)))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): who was freed had left */
		add_item(batch, item);
	return batch;
}

static void go_alone(struct batch_item *item)
{
	if (item->cancelled)
		end_cancelled(item);
	else if (!run_alone(item))
		end_lost(item);
}

/* In the order in which they came. */
static void part(struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		go_alone(batch->items[i]);
}

static void send_some(struct batches *batches)
{
	struct batch_item *item;

	while (batches->running < BATCHES_MOST &&
		(item = TAILQ_FIRST(&batches->waiting))) {
		struct batch *batch = gather(batches);
		if (batch && run(batch))
			continue;
		if (batch) {
			part(batch);
		} else {
			TAILQ_REMOVE(&batches->waiting, item, link);
			go_alone(item);
		}
		free(batch);
	}
}

/* ---- its end ------------------------------------------------------------------- */

static void end_whole(struct batch_item *item)
{
	struct kp_worker_result result = {
		.end = KP_WORKER_DONE, .stage = "identify", .elapsed_ms = item->took_ms};
	size_t i;
	json_t *line;

	json_array_foreach (item->lines, i, line)
		item->request.on_line(item->request.context, line);
	item_end(item, &result);
}

static bool is_whole(const struct batch *batch, const struct kp_worker_result *result)
{
	return result->end == KP_WORKER_DONE && !result->refused[0] &&
	       !result->output[0] && !batch->disorder && batch->done == batch->count;
}

static void on_end(void *context, const struct kp_worker_result *result)
{
	struct batch *batch = context;
	struct batches *batches = batch->batches;

	/* Whoever hears of an end may cancel others, or come with more. */
	batch->job = NULL;
	batches->running--;
	if (!is_whole(batch, result))
		part(batch);
	else
		for (size_t i = 0; i < batch->count; i++) {
			if (batch->items[i]->cancelled)
				end_cancelled(batch->items[i]);
			else
				end_whole(batch->items[i]);
		}
	free(batch);
	send_some(batches);
}

/* ---- asking -------------------------------------------------------------------- */

/* Nobody else waits where there is room. */
static bool send_one(struct batches *batches, struct batch_item *item)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return false;
	batch->batches = batches;
	TAILQ_INSERT_TAIL(&batches->waiting, item, link);
	add_item(batch, item);
	if (run(batch))
		return true;
	free(batch);
	return false;
}

struct batch_item *batches_submit(
	struct batches *batches, const struct pool_request *request)
{
	struct batch_item *item = calloc(1, sizeof(*item));
	int fd = request->fds[0];

	if (!item) {
		kp_file_close(&fd);
		return NULL;
	}
	item->batches = batches;
	item->request = *request;
	json_incref(item->request.job);
	if (batches->running >= BATCHES_MOST) {
		TAILQ_INSERT_TAIL(&batches->waiting, item, link);
	} else if (!send_one(batches, item)) {
		item_free(item);
		return NULL;
	}
	return item;
}

void batches_cancel(struct batch_item *item)
{
	struct batch *batch = item->batch;
	bool wanted = false;

	item->cancelled = true;
	if (item->alone)
		pool_cancel(item->alone);
	/* Without a job it has ended, and some of its items are gone. */
	if (!batch || !batch->job)
		return;
	for (size_t i = 0; i < batch->count; i++)
		wanted = wanted || !batch->items[i]->cancelled;
	if (!wanted)
		pool_cancel(batch->job);
}
