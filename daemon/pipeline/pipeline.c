/* SPDX-License-Identifier: MIT */
/* All ways that are under way, their store and their cache. */
#include "daemon/pipeline/pipeline.h"

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/pipeline/pipeline_inside.h"
#include "daemon/pipeline/way.h"
#include "lib/base/file.h"

enum {
	WIDTH = 2,	 /* of libuv's four threads */
	BEGUN_MOST = 64, /* ways: each has files open, and what it has found out so far */
};

/* ---- what ways need ------------------------------------------------------------ */

struct store *pipeline_store(const struct pipeline *pipeline)
{
	return pipeline->store;
}

const struct kp_diag *pipeline_store_diag(const struct pipeline *pipeline)
{
	return &pipeline->store_diag;
}

struct cache *pipeline_cache(struct pipeline *pipeline)
{
	return &pipeline->cache;
}

struct pool *pipeline_pool(const struct pipeline *pipeline)
{
	return pipeline->pool;
}

struct batches *pipeline_batches(struct pipeline *pipeline)
{
	return &pipeline->batches;
}

struct suspects *pipeline_suspects(const struct pipeline *pipeline)
{
	return pipeline->suspects;
}

struct lane *pipeline_lane(struct pipeline *pipeline)
{
	return &pipeline->lane;
}

uv_loop_t *pipeline_loop(const struct pipeline *pipeline)
{
	return pipeline->loop;
}

const struct pipeline_options *pipeline_settings(const struct pipeline *pipeline)
{
	return &pipeline->settings;
}

/* ---- closing ------------------------------------------------------------------- */

static void free_all(struct pipeline *pipeline)
{
	store_close(pipeline->store);
	cache_finish(&pipeline->cache);
	memory_finish(&pipeline->memory);
	kp_diags_finish(&pipeline->warnings);
	free((char *)pipeline->settings.plugin_dir);
	free((char *)pipeline->settings.store_dir);
	free((char *)pipeline->settings.cache_dir);
	free((char *)pipeline->settings.state_dir);
	free((char *)pipeline->settings.platform);
	free(pipeline);
}

static void suspects_closed(void *context)
{
	struct pipeline *pipeline = context;
	void (*closed)(void *) = pipeline->closed;
	void *closed_context = pipeline->closed_context;

	free_all(pipeline);
	if (closed)
		closed(closed_context);
}

static void timer_closed(uv_handle_t *handle)
{
	struct pipeline *pipeline = handle->data;

	suspects_close(pipeline->suspects, suspects_closed, pipeline);
}

static void close_when_idle(struct pipeline *pipeline)
{
	if (!pipeline->closing || pipeline->ended ||
		(!pipeline->open && !pipeline->away) || pipeline->leaving > 0 ||
		pipeline->checks > 0 || !cache_save_flush(&pipeline->save))
		return;
	pipeline->ended = true;
	cache_save_close(&pipeline->save, timer_closed, pipeline);
}

void pipeline_close(
	struct pipeline *pipeline, void (*closed)(void *context), void *context)
{
	pipeline->closing = true;
	pipeline->closed = closed;
	pipeline->closed_context = context;
	suspects_end(pipeline->suspects);
	for (const struct way *way; (way = ways_any(&pipeline->ways));)
		pipeline_cancel(pipeline, way->manifest.name);
	close_when_idle(pipeline);
}

/* ---- the cache on disk --------------------------------------------------------- */

static bool is_reported(const struct pipeline *pipeline, const struct kp_diag *diag)
{
	for (size_t i = 0; i < pipeline->warnings.count; i++)
		if (strcmp(pipeline->warnings.items[i].code, diag->code) == 0 &&
			strcmp(pipeline->warnings.items[i].object, diag->object) == 0)
			return true;
	return false;
}

static void warn(struct pipeline *pipeline, const struct kp_diag *diag)
{
	if (is_reported(pipeline, diag))
		return;
	kp_diags_add(&pipeline->warnings, diag);
	if (pipeline->settings.warned)
		pipeline->settings.warned(pipeline->settings.warned_context, diag);
}

/*
 * What was found out of thousands of plugins is many times what is needed of them while
 * nothing changes: then the file has it, and memory that it took goes back.
 */
static void put_away(struct pipeline *pipeline)
{
	if (!pipeline->open || pipeline->closing || pipeline->ways.count > 0 ||
		pipeline->leaving > 0 || !cache_save_is_done(&pipeline->save))
		return;
	pipeline->open = false;
	pipeline->away = true;
	(void)json_object_clear(pipeline->cache.files);
	(void)json_object_clear(pipeline->cache.verdicts);
	if (pipeline->settings.resting)
		pipeline->settings.resting(pipeline->settings.warned_context);
	(void)malloc_trim(0);
}

/* A cache that cannot be written costs the next start its speed: said once. */
static void saved(void *context, const struct kp_diag *diag)
{
	struct pipeline *pipeline = context;

	if (diag)
		warn(pipeline, diag);
	put_away(pipeline);
	close_when_idle(pipeline);
}

void pipeline_cache_changed(struct pipeline *pipeline)
{
	cache_save_later(&pipeline->save);
}

/* Not all of thousands at once: they would only wait for each other. */
static void begin_some(struct pipeline *pipeline)
{
	struct way *way;

	while (pipeline->open && !pipeline->closing && !pipeline->paused &&
		pipeline->ways.begun < BEGUN_MOST && (way = ways_begin(&pipeline->ways)))
		way_begin(way);
}

void pipeline_waits(struct pipeline *pipeline, struct way *way)
{
	ways_discount(&pipeline->ways, way);
	begin_some(pipeline);
}

/* Those that wait for the last turn need no place among those that are under way. */
void pipeline_suspects_it(struct pipeline *pipeline, struct way *way)
{
	char text[MARK_TEXT];

	if (pipeline->settings.suspected)
		pipeline->settings.suspected(pipeline->settings.warned_context,
			way->manifest.name, mark_text(way->permit.mark, text));
	pipeline_waits(pipeline, way);
}

static bool is_quiet(void *context)
{
	const struct pipeline *pipeline = context;

	return pipeline->ways.count == suspects_last(pipeline->suspects);
}

static void warn_of_marks(void *context, const struct kp_diag *diag)
{
	warn(context, diag);
}

static int start_suspects(struct pipeline *pipeline)
{
	if (!pipeline->settings.state_dir)
		return 0;
	pipeline->suspects = suspects_new(
		pipeline->loop, &(struct suspects_options){pipeline->settings.state_dir,
					is_quiet, warn_of_marks, pipeline});
	return pipeline->suspects ? 0 : -1;
}

/* ---- opening ------------------------------------------------------------------- */

static struct opening *opening_of(struct lane_job *job)
{
	return (struct opening *)((char *)job - offsetof(struct opening, job));
}

/* The loop thread leaves store and cache alone until this is done. */
static void open_work(struct lane_job *job)
{
	struct opening *opening = opening_of(job);
	struct pipeline *pipeline = opening->pipeline;

	if (!pipeline->store)
		pipeline->store = store_open(
			pipeline->settings.store_dir, NULL, &pipeline->store_diag);
	if (pipeline->store)
		store_ask(pipeline->store,
			&(struct store_wish){pipeline->settings.any_files
						     ? NULL
						     : pipeline->settings.trust,
				pipeline->settings.system});
	/* What could not be written later is said now. */
	opening->failed = kp_file_make_dirs(pipeline->settings.cache_dir, 0755,
				  &opening->diag) < 0 ||
			  cache_read(&pipeline->cache, pipeline->settings.cache_dir,
				  (int64_t)time(NULL), &opening->diag) != 0;
}

static void opened(struct lane_job *job)
{
	struct opening *opening = opening_of(job);
	struct pipeline *pipeline = opening->pipeline;

	pipeline->open = true;
	if (opening->failed)
		warn(pipeline, &opening->diag);
	if (!pipeline->store)
		warn(pipeline, &pipeline->store_diag);
	begin_some(pipeline);
	put_away(pipeline);
	close_when_idle(pipeline);
}

/* At the start, and when what was put away is needed again. */
static void fetch(struct pipeline *pipeline)
{
	pipeline->away = false;
	pipeline->was_open = true;
	lane_add(&pipeline->lane, &pipeline->opening.job, open_work, opened);
}

static int copy_settings(
	struct pipeline *pipeline, const struct pipeline_options *options)
{
	struct pipeline_options *own = &pipeline->settings;

	own->plugin_dir = strdup(options->plugin_dir);
	own->store_dir = strdup(options->store_dir);
	own->cache_dir = strdup(options->cache_dir);
	own->platform = strdup(options->platform);
	own->state_dir = options->state_dir ? strdup(options->state_dir) : NULL;
	own->suspected = options->suspected;
	own->signing = options->signing;
	own->loaded_dir = options->loaded_dir;
	own->system = options->system;
	own->trust = options->trust;
	own->any_files = options->any_files;
	own->confinement = options->confinement;
	own->warned = options->warned;
	own->warned_context = options->warned_context;
	own->resting = options->resting;
	return own->plugin_dir && own->store_dir && own->cache_dir && own->platform &&
			       (own->state_dir || !options->state_dir)
		       ? 0
		       : -1;
}

struct pipeline *pipeline_new(uv_loop_t *loop, struct pool *pool,
	const struct pipeline_options *options, pipeline_done_fn *done, void *context)
{
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));

	if (!pipeline)
		return NULL;
	pipeline->loop = loop;
	pipeline->pool = pool;
	pipeline->done = done;
	pipeline->context = context;
	pipeline->opening.pipeline = pipeline;
	lane_init(&pipeline->lane, loop, WIDTH);
	ways_init(&pipeline->ways);
	batches_init(&pipeline->batches, pool);
	if (copy_settings(pipeline, options) < 0 || cache_init(&pipeline->cache) < 0 ||
		cache_save_init(&pipeline->save, &pipeline->lane, &pipeline->cache,
			pipeline->settings.cache_dir, saved, pipeline) < 0) {
		free_all(pipeline);
		return NULL;
	}
	/* Last: it opens a file. */
	if (start_suspects(pipeline) < 0) {
		free_all(pipeline);
		return NULL;
	}
	pipeline->away = true;
	return pipeline;
}

struct store *pipeline_hold(struct pipeline *pipeline)
{
	if (pipeline->closing || (!pipeline->open && !pipeline->away))
		return NULL;
	pipeline->checks += pipeline->store != NULL;
	return pipeline->store;
}

void pipeline_let_go(struct pipeline *pipeline)
{
	pipeline->checks--;
	close_when_idle(pipeline);
}

bool pipeline_pause(struct pipeline *pipeline)
{
	pipeline->paused =
		!pipeline->closing && pipeline->ways.count == 0 && pipeline->leaving == 0;
	return pipeline->paused;
}

void pipeline_resume(struct pipeline *pipeline)
{
	pipeline->paused = false;
	begin_some(pipeline);
}

void pipeline_open(struct pipeline *pipeline)
{
	if (pipeline->away && !pipeline->was_open && !pipeline->closing)
		fetch(pipeline);
}

/* ---- ways ---------------------------------------------------------------------- */

static void take_out(struct pipeline *pipeline, struct way *way)
{
	ways_remove(&pipeline->ways, way);
	pipeline->leaving++;
}

int pipeline_start(
	struct pipeline *pipeline, const struct kp_manifest *manifest, bool fresh)
{
	if (pipeline->closing)
		return -1;
	struct way *way = way_new(pipeline, manifest, fresh);
	if (!way)
		return -1;
	pipeline_cancel(pipeline, manifest->name);
	if (ways_add(&pipeline->ways, way) < 0) {
		pipeline->leaving++;
		way_cancel(way);
		return -1;
	}
	begin_some(pipeline);
	if (pipeline->away)
		fetch(pipeline);
	return 0;
}

void pipeline_cancel(struct pipeline *pipeline, const char *plugin)
{
	struct way *way = ways_find(&pipeline->ways, plugin);

	if (!way)
		return;
	take_out(pipeline, way);
	way_cancel(way);
	begin_some(pipeline);
	suspects_look(pipeline->suspects);
}

void pipeline_finished(struct pipeline *pipeline, struct way *way)
{
	struct kp_verdict verdict = way->verdict;

	take_out(pipeline, way);
	if (way->trace)
		memory_set(&pipeline->memory, way->manifest.name, way->trace, way->kept);
	way->verdict = (struct kp_verdict){0};
	pipeline->done(
		pipeline->context, way->manifest.name, way->manifest.digest, &verdict);
	begin_some(pipeline);
}

void pipeline_gone(struct pipeline *pipeline, struct way *way)
{
	way_free(way);
	pipeline->leaving--;
	put_away(pipeline);
	close_when_idle(pipeline);
}

size_t pipeline_active(const struct pipeline *pipeline)
{
	return pipeline->ways.count;
}

int pipeline_set_platform(struct pipeline *pipeline, const char *platform)
{
	char *copy = strdup(platform);

	if (!copy)
		return -1;
	free((char *)pipeline->settings.platform);
	pipeline->settings.platform = copy;
	return 0;
}

const struct kp_diags *pipeline_warnings(const struct pipeline *pipeline)
{
	return &pipeline->warnings;
}
