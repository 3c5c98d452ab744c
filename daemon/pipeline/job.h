/* SPDX-License-Identifier: MIT */
/*
 * One job of the pool, from its request to its end: its descriptors, its
 * supervisor and their handles in the loop. Knows no queue and no slots.
 */
#ifndef KP_DAEMON_JOB_H
#define KP_DAEMON_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "daemon/pipeline/launcher.h"
#include "daemon/pipeline/pool.h"
#include "lib/base/diag.h"

struct pool_job {
	TAILQ_ENTRY(pool_job) link; /* the pool's */
	struct pool *pool;	    /* the pool's */
	int64_t id;
	struct pool_request request;
	struct kp_report_terms terms;
	/* Called right before on_end, and when its last handle is closed and it is freed.
	 */
	void (*ended)(struct pool_job *job, const struct kp_worker_result *result);
	void (*gone)(struct pool *pool);
	bool started, cancelled;
	uint64_t began_ms;	   /* of uv_now, once it is started */
	struct launcher *launcher; /* from its start; borrowed */
	uv_loop_t *loop;
	int report, output;		  /* read ends, until the supervisor has them */
	struct kp_supervisor *supervisor; /* NULL until the launcher has it */
	uv_timer_t timer;
	uv_poll_t report_poll, output_poll;
	unsigned handles; /* not closed yet */
};

/* Copies the request. NULL when memory or descriptors are exhausted. */
struct pool_job *job_new(
	struct pool *pool, int64_t id, const struct pool_request *request);

/* Asks the launcher for it. What goes wrong comes through its end. */
void job_start(struct pool_job *job, uv_loop_t *loop, struct launcher *launcher);

/* The launcher has started it; it has ended; it could not run, or its parent died. */
void job_take_start(struct pool_job *job);
void job_take_end(struct pool_job *job, int status, bool lingered);
/* Also for one that was never started. The launcher is not used any more. */
void job_lose(struct pool_job *job, const struct kp_diag *why);

/* Its parent was killed by a signal, and by it: see kp_supervisor_bereaved. */
void job_bereave(struct pool_job *job, bool launcher);

/* Its sandbox refused something: see kp_supervisor_refused. */
void job_refuse(struct pool_job *job, const char *text, bool deadly);

/* The end comes later. Not for one that was never started. */
void job_cancel(struct pool_job *job);

#endif
