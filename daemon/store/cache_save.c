/* SPDX-License-Identifier: MIT */
/* Debounced writing of the cache. */
#include "daemon/store/cache_save.h"

#include <stddef.h>

enum { CALM_MS = 1000 };

static struct cache_save *save_of(struct lane_job *job)
{
	return (struct cache_save *)((char *)job - offsetof(struct cache_save, job));
}

static void work(struct lane_job *job)
{
	struct cache_save *save = save_of(job);

	save->failed = cache_write(&save->snapshot, save->dir, &save->diag);
}

static void worked(struct lane_job *job)
{
	struct cache_save *save = save_of(job);

	cache_finish(&save->snapshot);
	save->writing = false;
	if (save->changed)
		cache_save_later(save);
	save->ended(save->context, save->failed ? &save->diag : NULL);
}

/* Without memory for a snapshot the next start is slower, no more. */
static void write_now(struct cache_save *save)
{
	if (save->writing)
		return;
	save->changed = false;
	if (cache_snapshot(save->cache, &save->snapshot) < 0)
		return;
	save->writing = true;
	lane_add(save->lane, &save->job, work, worked);
}

static void calm(uv_timer_t *timer)
{
	write_now(timer->data);
}

int cache_save_init(struct cache_save *save, struct lane *lane, const struct cache *cache,
	const char *dir, void (*ended)(void *context, const struct kp_diag *diag),
	void *context)
{
	*save = (struct cache_save){.lane = lane,
		.cache = cache,
		.dir = dir,
		.ended = ended,
		.context = context};
	if (uv_timer_init(lane->loop, &save->calm) < 0)
		return -1;
	save->calm.data = save;
	return 0;
}

void cache_save_later(struct cache_save *save)
{
	save->changed = true;
	if (!save->closing && !uv_is_active((uv_handle_t *)&save->calm))
		(void)uv_timer_start(&save->calm, calm, CALM_MS, 0);
}

bool cache_save_is_done(const struct cache_save *save)
{
	return !save->changed && !save->writing && !save->failed;
}

bool cache_save_flush(struct cache_save *save)
{
	save->closing = true;
	(void)uv_timer_stop(&save->calm);
	if (save->changed)
		write_now(save);
	return !save->writing;
}

void cache_save_close(struct cache_save *save, uv_close_cb closed, void *data)
{
	save->calm.data = data;
	uv_close((uv_handle_t *)&save->calm, closed);
}
