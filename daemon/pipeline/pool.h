/* SPDX-License-Identifier: MIT */
/*
 * Runs jobs in worker processes through the launcher and drives their
 * supervisors (lib/plugin/supervisor.h) from the loop. Knows nothing of what a job
 * means.
 */
#ifndef KP_DAEMON_POOL_H
#define KP_DAEMON_POOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "daemon/worker/process.h"
#include "lib/plugin/supervisor.h"

struct pool;
struct pool_job;

enum { POOL_FDS_MOST = PROCESS_FDS_MOST }; /* that a job takes along */

struct pool_options {
	const char *worker; /* path of plugin-worker */
	/*
	 * Jobs at a time that have just begun: one that takes long does not keep the next
	 * from its turn, as long as there are not too many of them.
	 */
	size_t slots;
	/* Each worker that ran; may be NULL. kind: as in the job. */
	void (*ended)(
		void *context, const char *kind, const struct kp_worker_result *result);
	void *context;
};

/* The launcher starts with the first job. Borrowed: loop, options' strings copied. */
struct pool *pool_new(uv_loop_t *loop, const struct pool_options *options);

/*
 * What to run. `job` is the worker's job object ("kind": identify, probe, bench,
 * ...; lib/plugin/supervisor.h). Descriptors are passed by duplication; the
 * caller keeps its own. on_line gets each report line as it comes, on_end once:
 * the result, or cancelled. Both in the loop thread.
 */
struct pool_request {
	json_t *job;
	int fds[POOL_FDS_MOST];
	size_t n_fds;
	unsigned timeout_ms;
	bool identifies; /* no code of a plugin runs: lib/plugin/report.h */
	size_t kernels;	 /* that a probe asks */
	/*
	 * Runs while nothing else does: one of those that ran when the launcher died. If
	 * it dies again, this is why: KP_WORKER_KILLED_PARENT.
	 */
	bool alone;
	void (*on_line)(void *context, json_t *line);
	/* The end of what it has printed so far, whenever there is more; may be NULL. */
	void (*on_output)(void *context, const char *output);
	void (*on_end)(void *context, const struct kp_worker_result *result);
	void *context;
};

/*
 * Takes a reference to request->job. NULL when memory or descriptors are exhausted
 * and while the pool closes. timeout_ms counts from the worker's start. When no
 * launcher can be started, all that wait end as KP_WORKER_LOST; the next try is
 * delayed, up to 6 s.
 */
struct pool_job *pool_submit(struct pool *pool, const struct pool_request *request);
/* Kills it; on_end comes later, with KP_WORKER_CANCELLED. Also from on_line. */
void pool_cancel(struct pool_job *job);

size_t pool_running(const struct pool *pool);
size_t pool_started(const struct pool *pool); /* since the start */
size_t pool_lost(const struct pool *pool);    /* launcher deaths */

/* Ends the launcher and with it all workers; then calls `closed`, and frees. */
void pool_close(struct pool *pool, void (*closed)(void *context), void *context);

#endif
