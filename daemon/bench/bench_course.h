/* SPDX-License-Identifier: MIT */
/*
 * The order in which the rows of a plan are done: shape by shape; the rows of a shape
 * round by round, each round in the other direction than the one before, the last
 * forwards. So none of them always comes after the same other one, and what changes
 * with time changes for all. Pure.
 */
#ifndef KP_DAEMON_BENCH_COURSE_H
#define KP_DAEMON_BENCH_COURSE_H

#include "daemon/bench/bench_plan.h"

struct bench_course {
	const struct bench_plan *plan; /* borrowed */
	size_t first, end;	       /* rows of the shape under way */
	unsigned round;
	size_t step; /* in the round */
};

/* At the first row of the plan, which has one. */
void bench_course_start(struct bench_course *course, const struct bench_plan *plan);

/* The row that is to be done now. */
size_t bench_course_row(const struct bench_course *course);
bool bench_course_is_last_round(const struct bench_course *course);

/*
 * On to the next. false: the rows [first, end) of the shape are all done; then
 * bench_course_next_shape goes on, which is false at the end of the plan.
 */
bool bench_course_next(struct bench_course *course);
bool bench_course_next_shape(struct bench_course *course);

#endif
