/* SPDX-License-Identifier: MIT */
/* A row of a benchmark as the Run of the interface. Pure. */
#ifndef KP_DAEMON_BENCH_RUN_H
#define KP_DAEMON_BENCH_RUN_H

#include <jansson.h>

#include "daemon/bench/bench_task.h"

/*
 * Adds a round that was right to the row's times. false: it was not right, or memory is
 * exhausted.
 */
bool bench_run_keep(const struct bench_plan *plan, struct bench_row *row,
	const struct bench_words *words, const struct kp_worker_result *result);

/*
 * What a worker said and how it ended, into a Run; the last round has been kept, if it
 * was right. result is NULL for a row that was not run. A new reference, NULL when
 * memory is exhausted. verdict is one of
 *
 * ok            right before, while and after it was timed
 * unverified    ran, but there is no reference to hold it against
 * wrong         its outputs are not the reference's
 * crashed       died
 * hung          did not end in its time
 * out_of_bounds touched memory beyond a tensor, or wrote to an input
 * unavailable, unsupported   said so itself
 * not_eligible  selection would not take it, or not any more
 * error         anything else, and times that cannot be ("implausible: ..."); `message`
 *               says what
 *
 * Times are those of `ok` and `unverified` only; rates follow from the family's work,
 * where its terms hold for what was asked.
 */
json_t *bench_run_json(const struct bench_plan *plan, const struct bench_row *row,
	const struct bench_words *words, const struct kp_worker_result *result);

/* The rows of one shape have their runs: sets the share of the best of each. */
void bench_run_compare(struct bench_row *rows, size_t count);

#endif
