/* SPDX-License-Identifier: MIT */
/*
 * What workers report of one library, put together into a verdict: by plugind and by
 * `plugin-worker --identify` alike. Nothing of a worker is believed beyond its part:
 * one that identifies runs no code of the plugin and says what the library is; one
 * that probes is in the hands of the plugin and says what happened to it, no more.
 * Texts are bounded and made safe. Starts no worker.
 */
#ifndef KP_LIB_FINDING_H
#define KP_LIB_FINDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/plugin/supervisor.h"
#include "lib/plugin/verdict.h"

/* A line of a worker's output: behind it is where it was when a signal ended it. */
#define KP_BACKTRACE_MARK "-- backtrace of the worker --"

/* Zero it, set verdict; the verdict is filled and stays the caller's. */
struct kp_finding {
	struct kp_verdict *verdict;
	json_t *needs;	   /* what its dependencies resolved to; or NULL */
	json_t *unmet;	   /* {"code", "message"}: it cannot be loaded here; or NULL */
	bool failed;	   /* a worker said so; the verdict has state, code and message */
	bool no_memory;	   /* what was told could not all be kept */
	size_t stages;	   /* that a probe has told */
	char garbled[256]; /* what a probe should not have said, or "" */
};

enum kp_finding_end {
	KP_FINDING_GOOD,
	KP_FINDING_BAD,	 /* the verdict says how */
	KP_FINDING_LOST, /* nobody's blame, as is no_memory; nothing was kept */
};

/* Before the same finding gets lines of a further worker. Forgets kernels. */
void kp_finding_begin(struct kp_finding *finding);

/* Lines of an identify: elf (forgets needs), note, needs (adds to them), warnings,
 * failed, unmet. */
void kp_finding_identify(struct kp_finding *finding, const json_t *line);
/*
 * Lines of a probe, whose plugin has been identified: stage, kernel, loader, warnings,
 * failed. First the stage "load", then for each kernel of the note, in its order,
 * the stage "probe kernel NAME" and its answer: anything else is garbled. A load that
 * ends before any constructor may say the stage "relocation" last.
 */
void kp_finding_probe(struct kp_finding *finding, const json_t *line);

/*
 * After the worker's end; `now` in seconds. Adds up the time that it took. A probe that
 * said what it should not, or not all that it should, has failed: codes garbled_report
 * and incomplete_report.
 */
enum kp_finding_end kp_finding_identified(
	struct kp_finding *finding, const struct kp_worker_result *result, int64_t now);
enum kp_finding_end kp_finding_probed(
	struct kp_finding *finding, const struct kp_worker_result *result, int64_t now);
/*
 * After a good identify, and once it is known what its dependencies are: where this
 * machine lacks something without which it cannot be loaded, the verdict is rejected, and
 * no probe is needed. True: it is so.
 */
bool kp_finding_refuse(struct kp_finding *finding, int64_t now);
void kp_finding_finish(struct kp_finding *finding);

/* Sets state, code and message of a verdict that is not active. */
void kp_verdict_fail(struct kp_verdict *verdict, enum kp_state state, const char *code,
	const char *message);
/* Puts the digest, once it is known, into the evidence, if there is any. */
void kp_verdict_mark_evidence(struct kp_verdict *verdict);
/* Adds a warning of texts that need not live on. */
void kp_verdict_warn(struct kp_verdict *verdict, const char *code, const char *object,
	const char *message);

#endif
