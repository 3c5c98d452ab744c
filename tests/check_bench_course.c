/* SPDX-License-Identifier: MIT */
/* The order of rows, and rounds put together. */
#include "daemon/bench/bench_course.h"
#include "daemon/bench/bench_taken.h"
#include "daemon/bench/bench_task.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 5 };

/* Rows of shapes 0, 0, 0, 1, 1. */
static struct bench_row rows[ROWS];
static struct bench_plan plan;

static void make(unsigned rounds)
{
	for (size_t i = 0; i < ROWS; i++)
		rows[i].shape = i >= 3;
	plan = (struct bench_plan){
		.task = &bench_measuring, .rows = rows, .n_rows = ROWS, .rounds = rounds};
}

/* "210 012 43 34 ": a digit a row, a blank a round of one shape. */
static void walk(char *text)
{
	struct bench_course course;
	bench_course_start(&course, &plan);
	do {
		unsigned round = course.round;
		bool more;
		do {
			text += sprintf(text, "%zu", bench_course_row(&course));
			more = bench_course_next(&course);
			if (more && course.round == round)
				continue;
			text += sprintf(text, " ");
			round = course.round;
		} while (more);
	} while (bench_course_next_shape(&course));
}

static const struct {
	unsigned rounds;
	const char *order;
} orders[] = {
	{0, "012 34 "},
	{1, "012 34 "},
	{2, "210 012 43 34 "},
	{3, "012 210 012 34 43 34 "},
	{4, "210 012 210 012 43 34 43 34 "},
};

START_TEST(rounds_go_to_and_fro_and_the_last_forwards)
{
	char text[256] = "";
	make(orders[_i].rounds);
	walk(text);
	ck_assert_str_eq(text, orders[_i].order);
}
END_TEST

START_TEST(a_task_without_rounds_has_one)
{
	static const struct bench_task once = {.kind = "once"};
	char text[256] = "";
	make(4);
	plan.task = &once;
	ck_assert_uint_eq(bench_rounds(&plan), 1);
	walk(text);
	ck_assert_str_eq(text, "012 34 ");
}
END_TEST

static void add(struct bench_taken *taken, double median, int count)
{
	json_t *samples = json_array();
	for (int i = 0; i < count; i++)
		json_array_append_new(samples,
			json_integer((json_int_t)(median * 1e6) + i - count / 2));
	json_t *report = json_pack("{s:i, s:i, s:f, s:f, s:f, s:i, s:f}", "samples",
		count, "warmup", 3, "median_us", median, "min_us", median / 2, "max_us",
		median * 2, "repeats", 7, "max_error", 1 / median);
	ck_assert_int_eq(bench_taken_add(taken, report, samples), 0);
	json_decref(report);
	json_decref(samples);
}

START_TEST(interval_holds_the_median_of_each_round)
{
	struct bench_taken taken = {0};
	struct kp_stats stats;
	ck_assert(!bench_taken_stats(&taken, &stats));
	add(&taken, 10, 101);
	add(&taken, 12, 101);
	add(&taken, 11, 301);
	ck_assert(bench_taken_stats(&taken, &stats));
	ck_assert_double_eq_tol(stats.median, 11, 1e-3);
	ck_assert_double_eq(stats.low, 10);
	ck_assert_double_eq(stats.high, 12);
	bench_taken_finish(&taken);
}
END_TEST

START_TEST(counts_add_up_and_ends_are_the_outermost)
{
	struct bench_taken taken = {0};
	struct kp_stats stats;
	add(&taken, 10, 50);
	add(&taken, 20, 50);
	ck_assert(bench_taken_stats(&taken, &stats));
	ck_assert_int_eq(taken.samples, 100);
	ck_assert_int_eq(taken.warmup, 6);
	ck_assert_double_eq(stats.min, 5);
	ck_assert_double_eq(stats.max, 40);
	ck_assert_double_eq(taken.error, 0.1);
	ck_assert_uint_eq(json_array_size(taken.repeats), 2);
	ck_assert_uint_eq(json_array_size(taken.clocks), 2);
	bench_taken_finish(&taken);
}
END_TEST

START_TEST(rounds_are_bounded)
{
	struct bench_taken taken = {0};
	json_t *report = json_pack("{s:f, s:i}", "median_us", 1.0, "samples", 1);
	json_t *samples = json_pack("[i]", 1000000);
	for (int i = 0; i < BENCH_ROUNDS_MOST; i++)
		add(&taken, 10, 1);
	ck_assert_int_eq(bench_taken_add(&taken, report, samples), -1);
	ck_assert_uint_eq(taken.count, BENCH_ROUNDS_MOST);
	bench_taken_finish(&taken);
	json_decref(report);
	json_decref(samples);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench_course");
	TCase *tcase = tcase_create("bench_course");
	tcase_add_loop_test(tcase, rounds_go_to_and_fro_and_the_last_forwards, 0,
		(int)(sizeof(orders) / sizeof(orders[0])));
	tcase_add_test(tcase, a_task_without_rounds_has_one);
	tcase_add_test(tcase, interval_holds_the_median_of_each_round);
	tcase_add_test(tcase, counts_add_up_and_ends_are_the_outermost);
	tcase_add_test(tcase, rounds_are_bounded);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
