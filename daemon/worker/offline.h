/* SPDX-License-Identifier: MIT */
/* `plugin-worker --identify FILE` and `--inspect`: looks at a library without a daemon.
 */
#ifndef KP_WORKER_OFFLINE_H
#define KP_WORKER_OFFLINE_H

#include <jansson.h>
#include <stdbool.h>

#include "daemon/worker/report.h"
#include "lib/plugin/supervisor.h"
#include "lib/plugin/verdict.h"

/*
 * Identifies the file in a child, which is watched over, and prints the verdict
 * (kp_verdict_json) as one line on stdout. State active: nothing is wrong with
 * it as far as its bytes tell; no code of it was run. With `families` the note is held
 * against those that lie beside this program, as the registry does; without, it is a
 * warning that there is no signature. `keys` is a directory of public keys, by which
 * FILE.minisig is verified; NULL: by none. Returns the exit status: 0 whenever a verdict
 * was printed.
 */
int offline_identify(const char *file, const char *keys, bool families);

/* A job for a confined child, which gets the descriptor. */
struct offline_job {
	const struct job_kind *kind;
	const json_t *job;
	int fd;
};
/* Runs it and waits for its end. -1 with errno. */
int offline_supervise(const struct offline_job *job,
	void (*on_line)(void *context, json_t *line), void *context,
	struct kp_worker_result *result) __attribute__((warn_unused_result));

/*
 * Who has signed the open file, as the verdict's signature; what is wrong with that is
 * among its warnings. must_be: also that there is none. -1: no memory, or no child.
 */
int offline_signature(int fd, const char *file, const char *keys, bool must_be,
	struct kp_verdict *verdict) __attribute__((warn_unused_result));

#endif
