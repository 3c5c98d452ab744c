/* SPDX-License-Identifier: MIT */
/* To and fro over the rows of a shape. */
#include "daemon/bench/bench_course.h"

#include "daemon/bench/bench_task.h"

static void begin_shape(struct bench_course *course, size_t first)
{
	const struct bench_plan *plan = course->plan;

	course->first = course->end = first;
	course->round = 0;
	course->step = 0;
	while (course->end < plan->n_rows &&
		plan->rows[course->end].shape == plan->rows[first].shape)
		course->end++;
}

void bench_course_start(struct bench_course *course, const struct bench_plan *plan)
{
	*course = (struct bench_course){.plan = plan};
	begin_shape(course, 0);
}

size_t bench_course_row(const struct bench_course *course)
{
	bool is_forward = (bench_rounds(course->plan) - course->round) % 2 == 1;

	return is_forward ? course->first + course->step : course->end - 1 - course->step;
}

bool bench_course_is_last_round(const struct bench_course *course)
{
	return course->round + 1 == bench_rounds(course->plan);
}

bool bench_course_next(struct bench_course *course)
{
	if (++course->step < course->end - course->first)
		return true;
	course->step = 0;
	return ++course->round < bench_rounds(course->plan);
}

bool bench_course_next_shape(struct bench_course *course)
{
	if (course->end == course->plan->n_rows)
		return false;
	begin_shape(course, course->end);
	return true;
}
