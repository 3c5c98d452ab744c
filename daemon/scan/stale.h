/* SPDX-License-Identifier: MIT */
/* Looks, in the pool, which plugins' files are not what they were. */
#ifndef KP_DAEMON_STALE_H
#define KP_DAEMON_STALE_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/pipeline/lane.h"
#include "daemon/scan/stamp.h"

struct kp_trust;
struct stale;

/* A plugin whose files have changed; path: of one that was written to in place, or NULL.
 */
struct stale_plugin {
	const char *name, *path;
};
/* Called in the loop thread, once; texts are valid in the call. */
typedef void stale_done_fn(
	void *context, const struct stale_plugin *plugins, size_t count);

struct stale *stale_new(void);
/* Adds a plugin: copies the name, takes a reference. */
int stale_add(struct stale *stale, const char *plugin, struct trace *trace)
	__attribute__((warn_unused_result));
/*
 * Begins; frees itself after done. Files of which `trust` (borrowed; NULL: nobody asks)
 * says another thing than when the plugin was looked at count as changed.
 */
void stale_start(struct stale *stale, struct lane *lane, const struct kp_trust *trust,
	stale_done_fn *done, void *context);
/* One that was not started. NULL is fine. */
void stale_free(struct stale *stale);

#endif
