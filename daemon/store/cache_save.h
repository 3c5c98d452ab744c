/* SPDX-License-Identifier: MIT */
/* Writes a cache to disk in the pool, some time after it has changed. */
#ifndef KP_DAEMON_CACHE_SAVE_H
#define KP_DAEMON_CACHE_SAVE_H

#include <stdbool.h>
#include <uv.h>

#include "daemon/pipeline/lane.h"
#include "daemon/store/cache.h"

struct cache_save {
	struct lane *lane;
	const struct cache *cache;
	const char *dir;
	struct cache snapshot;
	struct lane_job job;
	uv_timer_t calm;
	struct kp_diag diag;
	int failed;
	bool changed, writing, closing;
	/* A write has ended; diag is NULL when it went well. */
	void (*ended)(void *context, const struct kp_diag *diag);
	void *context;
};

/* All is borrowed. */
int cache_save_init(struct cache_save *save, struct lane *lane, const struct cache *cache,
	const char *dir, void (*ended)(void *context, const struct kp_diag *diag),
	void *context) __attribute__((warn_unused_result));
/* The cache has changed. */
void cache_save_later(struct cache_save *save);
/* Is all that the cache holds on disk, too? */
bool cache_save_is_done(const struct cache_save *save);
/*
 * For the end: writes what has changed. True when there is nothing to write and
 * nothing under way; else `ended` comes, and then it is to be asked again.
 */
bool cache_save_flush(struct cache_save *save);
/* After cache_save_flush was true; the memory goes in the callback. */
void cache_save_close(struct cache_save *save, uv_close_cb closed, void *data);

#endif
