/* SPDX-License-Identifier: MIT */
/* Two results side by side. Pure: asks and prints nothing. */
#ifndef CMD_BENCH_CHANGE_H
#define CMD_BENCH_CHANGE_H

#include <jansson.h>
#include <stdbool.h>

/*
 * Rows of kplug-compare/1 (lib/schemas/compare.json): those of the new runs in their
 * order, then those that only the old result has; these only where `is_whole`, that
 * is, where all of it was to be measured again. threshold: the part of a median by
 * which it must change to count, 0.05. A new reference, NULL when memory is exhausted.
 *
 * ratio is new by old median; ratio_low and ratio_high come from the intervals of both
 * medians. verdict:
 *
 * slower, faster     the intervals do not touch, the medians differ by more than the
 *                    threshold, and nine in ten samples of either are on its side of the
 *                    other's median
 * unstable           the same but for the last; or an interval is wider than a quarter of
 *                    its median: nothing can be said
 * indistinguishable  anything else that was measured twice
 * wrong              it is not right now: the run's verdict says how
 * missing, new       only one of both has times of it
 */
json_t *bench_change_rows(
	const json_t *old, const json_t *new, double threshold, bool is_whole);

/* {"slower": 1, ...}: how many rows of each verdict, all of them. */
json_t *bench_change_counts(const json_t *rows);

#endif
