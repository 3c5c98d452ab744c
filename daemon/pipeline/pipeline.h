/* SPDX-License-Identifier: MIT */
/*
 * A plugin's way: library -> store (copy and hash in libuv's pool) -> identify ->
 * probe -> verdict, or straight from the cache when nothing has changed. Knows
 * no registry and no decisions.
 */
#ifndef KP_DAEMON_PIPELINE_H
#define KP_DAEMON_PIPELINE_H

#include <stdbool.h>
#include <uv.h>

#include "daemon/pipeline/pool.h"
#include "daemon/scan/stale.h"
#include "daemon/scan/stamp.h"
#include "lib/platform/confinement.h"
#include "lib/plugin/manifest.h"
#include "lib/plugin/signing.h"
#include "lib/plugin/verdict.h"

struct kp_trust;
struct pipeline;
struct store;
struct suspects;

struct pipeline_options {
	const char *plugin_dir;
	const char *store_dir; /* STATE/store: made when missing, 0755 */
	const char *cache_dir;
	const char *platform; /* a text that changes when the devices do: part of the
				 cache key */
	/* STATE, for marks of what is being probed, or NULL: there are none. */
	const char *state_dir;
	const struct kp_signing *signing; /* borrowed; NULL: nothing is asked */
	const char *loaded_dir;		  /* of daemon/scan/loaded.h, borrowed; or NULL */
	/* A plugin that is probed after all others, and why; with warned_context. */
	void (*suspected)(void *context, const char *plugin, const char *why);
	/* A warning that was not there before: pipeline_warnings has it, too. */
	void (*warned)(void *context, const struct kp_diag *warning);
	void *warned_context;
	/* All is done and saved: memory that is not needed now goes back next. */
	void (*resting)(void *context);
	bool system; /* serves all users: what is not public is not taken */
	/* Whose files are taken; borrowed. With any_files that is asked of keys alone. */
	const struct kp_trust *trust;
	bool any_files;
	/* Where workers are not confined as a whole, a system's daemon probes only what
	 * belongs to root. Borrowed; NULL: they are. */
	const struct kp_confinement *confinement;
};

/*
 * *verdict is the callee's to take over; plugin and manifest_digest say what was
 * asked for. In the loop thread.
 */
typedef void pipeline_done_fn(void *context, const char *plugin,
	const char *manifest_digest, struct kp_verdict *verdict);

struct pipeline *pipeline_new(uv_loop_t *loop, struct pool *pool,
	const struct pipeline_options *options, pipeline_done_fn *done, void *context);

/*
 * Starts a plugin's way; one that is under way for this name is cancelled
 * without a callback. `fresh`: forget what the cache knows. Copies the manifest.
 * The caller has checked that it is right and not masked.
 */
int pipeline_start(struct pipeline *pipeline, const struct kp_manifest *manifest,
	bool fresh) __attribute__((warn_unused_result));
void pipeline_cancel(struct pipeline *pipeline, const char *plugin);

/*
 * Opens store and cache, where no way has had that done: what is wrong with them is known
 * a moment later.
 */
void pipeline_open(struct pipeline *pipeline);

/* A verdict of an earlier run holds still: what it rests on; takes references. */
void pipeline_confirm(struct pipeline *pipeline, const char *plugin, struct trace *trace,
	struct trace *kept);
/*
 * What the last verdict of a plugin rests on, borrowed: its files, and the stamps of its
 * entry in the store. False where the next start could not rely on them.
 */
bool pipeline_rests_on(const struct pipeline *pipeline, const char *plugin,
	struct trace **trace, struct trace **kept);

/*
 * The store, and the promise that it stays open until pipeline_let_go: for work on
 * entries in the pool. NULL: it is not open, or the pipeline closes.
 */
struct store *pipeline_hold(struct pipeline *pipeline);
void pipeline_let_go(struct pipeline *pipeline);
/*
 * No way begins until pipeline_resume; what is asked for meanwhile waits. False: some are
 * under way. While the store is held.
 */
bool pipeline_pause(struct pipeline *pipeline);
void pipeline_resume(struct pipeline *pipeline);

size_t pipeline_active(const struct pipeline *pipeline);

/*
 * Other devices are there from now on: copies the text. What is under way is to be
 * started again by the caller. -1 when memory is exhausted.
 */
int pipeline_set_platform(struct pipeline *pipeline, const char *platform)
	__attribute__((warn_unused_result));

/* Who is probed when, or NULL: everybody, at once. */
struct suspects *pipeline_suspects(const struct pipeline *pipeline);

/* What is wrong with the cache, once it has been read: for the log and `status`. */
const struct kp_diags *pipeline_warnings(const struct pipeline *pipeline);

/*
 * Has the library of an active plugin changed since its verdict (dev, inode,
 * size, mtime, ctime of the library and of what it reaches, presence of a missing
 * one)? Stats in the pool, then calls back with those to start again
 * (valid in the call); with none, before it returns, when memory is exhausted.
 */
void pipeline_stale(struct pipeline *pipeline, const struct kp_manifests *manifests,
	stale_done_fn *found, void *context);

/*
 * Cancels everything, writes what the cache has new, waits for what cannot be
 * cancelled, then calls `closed`, and frees. The pool must still be there.
 */
void pipeline_close(
	struct pipeline *pipeline, void (*closed)(void *context), void *context);

#endif
