/* SPDX-License-Identifier: MIT */
/*
 * The daemon's end of `plugin-worker --launcher` (daemon/worker/serve.h):
 * starts it, passes it jobs, tells of its messages and its end. Knows no queue.
 */
#ifndef KP_DAEMON_LAUNCHER_H
#define KP_DAEMON_LAUNCHER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "lib/base/diag.h"

struct launcher;

struct launcher_events {
	/* {"started": id} and so on; borrowed. */
	void (*message)(void *context, const json_t *message);
	/*
	 * It has ended and is reaped, its last messages were given; frees itself after.
	 * by_us: launcher_kill or launcher_hang_up was the cause.
	 */
	void (*ended)(void *context, bool by_us);
};

/* What a job is started with; all stay the caller's. */
struct launcher_job {
	int64_t id;
	const char *text;
	size_t size;
	int report, output; /* write ends */
	const int *fds;
	size_t n_fds; /* at most PROCESS_FDS_MOST */
};

/*
 * Spawns the program with a small environment of its own: PATH, HOME, LANG,
 * TMPDIR, LD_LIBRARY_PATH, and what GPU run-times and sanitizers read. Code
 * launcher_failed.
 */
struct launcher *launcher_start(uv_loop_t *loop, const char *program,
	const struct launcher_events *events, void *context, struct kp_diag *diag);

/*
 * Asks for a job. -1 when it could not be asked, with code launcher_failed; a
 * launcher that does not read any more is killed.
 */
int launcher_run(struct launcher *launcher, const struct launcher_job *job,
	struct kp_diag *diag) __attribute__((warn_unused_result));
/* Asks for a job's end. */
void launcher_end_job(struct launcher *launcher, int64_t id);

/* Closes the socket: it kills and reaps all workers, then ends. */
void launcher_hang_up(struct launcher *launcher);
/* SIGKILL: its keepers kill their workers then. */
void launcher_kill(struct launcher *launcher);

#endif
