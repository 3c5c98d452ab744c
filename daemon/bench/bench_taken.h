/* SPDX-License-Identifier: MIT */
/*
 * What the rounds of a row have given. Each round is another process, and those of
 * all kernels of a shape alternate: what the machine does meanwhile happens to all of
 * them, and what differs from process to process is seen. Pure.
 */
#ifndef KP_DAEMON_BENCH_TAKEN_H
#define KP_DAEMON_BENCH_TAKEN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/stats.h"

enum {
	BENCH_ROUNDS = 4, /* where nothing else is asked for */
	BENCH_ROUNDS_MOST = 16,
	BENCH_KEPT = 1000, /* samples of a row that are told one by one */
};

struct bench_taken {
	size_t rounds;
	size_t count;
	double *us; /* samples, round by round, in the order in which they were taken */
	double medians[BENCH_ROUNDS_MOST];
	json_int_t samples, warmup; /* all of them */
	double min, max;
	double error;  /* the largest; negative: nothing was compared */
	json_t *order; /* when each round was: its number in the whole benchmark */
	json_t *repeats, *clocks; /* arrays, by round */
};

/*
 * Adds a round: a report of its worker, and its samples in picoseconds, which are
 * plausible. -1 when memory is exhausted.
 */
int bench_taken_add(struct bench_taken *taken, const json_t *report,
	const json_t *samples_ps) __attribute__((warn_unused_result));

/*
 * Of the samples; min and max of all that were taken; low and high widened to hold the
 * median of each round. So two such intervals of 4 rounds each that do not touch are 8
 * numbers in perfect order, which chance gives in 2 of 70 cases (Mann and Whitney, 1947),
 * whatever differs from process to process. false: there are none, or no memory.
 */
bool bench_taken_stats(const struct bench_taken *taken, struct kp_stats *stats);

/* The samples in microseconds. A new reference. */
json_t *bench_taken_samples(const struct bench_taken *taken);

void bench_taken_finish(struct bench_taken *taken);

#endif
