/* SPDX-License-Identifier: MIT */
/* The inside of a pipeline, for the files that make it up: daemon/pipeline/pipeline*.c.
 */
#ifndef KP_DAEMON_PIPELINE_INSIDE_H
#define KP_DAEMON_PIPELINE_INSIDE_H

#include "daemon/pipeline/batch.h"
#include "daemon/pipeline/lane.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/suspects.h"
#include "daemon/pipeline/ways.h"
#include "daemon/scan/memory.h"
#include "daemon/store/cache.h"
#include "daemon/store/cache_save.h"
#include "daemon/store/store.h"

/* Store and cache are opened in the pool. */
struct opening {
	struct lane_job job;
	struct pipeline *pipeline;
	struct kp_diag diag;
	int failed;
};

struct pipeline {
	uv_loop_t *loop;
	struct pool *pool;
	struct batches batches;
	struct pipeline_options settings; /* its texts are owned */
	pipeline_done_fn *done;
	void *context;

	struct lane lane;
	struct store *store; /* NULL until it is open, and where it cannot be */
	struct kp_diag store_diag;
	struct suspects *suspects;
	struct cache cache;
	struct kp_diags warnings;
	struct memory memory;
	struct cache_save save;
	struct opening opening;
	bool open; /* store and cache have been looked at */
	bool away; /* all that the cache held is on disk alone */
	bool was_open;
	bool paused; /* entries of the store are being removed */

	struct ways ways; /* wanted */
	size_t leaving;	  /* ways that are not, and are not freed yet */
	size_t checks;	  /* stale checks under way */

	bool closing, ended;
	void (*closed)(void *context);
	void *closed_context;
};

#endif
