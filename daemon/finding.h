/* SPDX-License-Identifier: MIT */
/*
 * What workers report of one library, put together into a verdict. A worker may
 * be in the hands of a plugin: whatever a line is not, it is ignored. Starts no
 * worker.
 */
#ifndef KP_DAEMON_FINDING_H
#define KP_DAEMON_FINDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/supervisor.h"
#include "lib/verdict.h"

/* Zero it, set verdict; the verdict is filled and stays the caller's. */
struct finding {
	struct kp_verdict *verdict;
	json_t *needs; /* what its dependencies resolved to; or NULL */
	bool failed;   /* a worker said so; the verdict has state, code and message */
};

enum finding_end {
	FINDING_GOOD,
	FINDING_BAD,  /* the verdict says how */
	FINDING_LOST, /* nobody's blame; nothing was kept */
};

void finding_line(struct finding *finding, const json_t *line);
/* After the worker's end; `now` in seconds. Adds up the time that it took. */
enum finding_end finding_end(
	struct finding *finding, const struct kp_worker_result *result, int64_t now);
void finding_finish(struct finding *finding);

/* Sets state, code and message of a verdict that is not active. */
void verdict_fail(struct kp_verdict *verdict, enum kp_state state, const char *code,
	const char *message);
/* Adds a warning of texts that need not live on. */
void verdict_warn(struct kp_verdict *verdict, const char *code, const char *object,
	const char *message);

#endif
