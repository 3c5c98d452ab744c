/* SPDX-License-Identifier: MIT */
/* Loops over the threads of a pool. */
#include "lib/base/parallel.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/suite.h"

static const unsigned sizes[] = {1, 2, 3, 8};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), ROUNDS = 300 };

static struct kp_parallel *pool_of(unsigned threads)
{
	struct kp_parallel *pool = NULL;
	struct kp_diag diag;

	ck_assert_msg(kp_parallel_new(threads, &pool, &diag) == 0, "%s", diag.message);
	ck_assert_uint_eq(kp_parallel_threads(pool), threads);
	return pool;
}

/* ---- every index once ---------------------------------------------------------- */

static int count_up(void *arg, uint64_t i)
{
	((unsigned char *)arg)[i]++; /* no lock: an index is run by one thread */
	return 0;
}

START_TEST(every_index_is_run_once)
{
	static const uint64_t lengths[] = {0, 1, 2, 7, 64, 1000};
	struct kp_parallel *pool = pool_of(sizes[_i]);

	for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
		unsigned char *seen = calloc(lengths[l] + 1, 1);
		ck_assert_ptr_nonnull(seen);
		ck_assert_int_eq(kp_parallel_for(pool, lengths[l], count_up, seen), 0);
		for (uint64_t i = 0; i < lengths[l]; i++)
			ck_assert_uint_eq(seen[i], 1);
		ck_assert_uint_eq(seen[lengths[l]], 0);
		free(seen);
	}
	kp_parallel_free(pool);
}
END_TEST

/* A thread that came late to a loop must not take part in the next with its task. */
START_TEST(loops_follow_each_other_without_mixing)
{
	struct kp_parallel *pool = pool_of(sizes[_i]);
	unsigned char seen[2][5] = {{0}};

	for (int round = 0; round < 200; round++)
		ck_assert_int_eq(
			kp_parallel_for(pool, 2 + round % 4, count_up, seen[round % 2]),
			0);
	for (int i = 0; i < 5; i++) {
		ck_assert_uint_eq(seen[0][i], i < 2 ? 100 : i < 4 ? 50 : 0);
		ck_assert_uint_eq(seen[1][i], i < 3 ? 100 : i < 5 ? 50 : 0);
	}
	kp_parallel_free(pool);
}
END_TEST

/* ---- who runs it --------------------------------------------------------------- */

struct meeting {
	pthread_barrier_t all;
	pthread_t who[8];
};

static int meet(void *arg, uint64_t i)
{
	struct meeting *meeting = arg;

	meeting->who[i] = pthread_self();
	pthread_barrier_wait(&meeting->all);
	return 0;
}

/* With a barrier for all of them the loop ends only if all of them run it. */
START_TEST(all_threads_take_part_and_the_caller_is_one)
{
	struct kp_parallel *pool = pool_of(sizes[_i]);
	struct meeting meeting;
	unsigned callers = 0;

	pthread_barrier_init(&meeting.all, NULL, sizes[_i]);
	ck_assert_int_eq(kp_parallel_for(pool, sizes[_i], meet, &meeting), 0);
	for (unsigned i = 0; i < sizes[_i]; i++)
		callers += pthread_equal(meeting.who[i], pthread_self()) != 0;
	ck_assert_uint_eq(callers, 1);
	pthread_barrier_destroy(&meeting.all);
	kp_parallel_free(pool);
}
END_TEST

/* ---- failures ------------------------------------------------------------------ */

struct failures {
	uint64_t at[3];
	unsigned n;
	atomic_uint runs;
};

/* 3 fails with 103; the others, too. */
static int fail_at(void *arg, uint64_t i)
{
	struct failures *failures = arg;

	atomic_fetch_add(&failures->runs, 1);
	for (unsigned f = 0; f < failures->n; f++)
		if (failures->at[f] == i)
			return 100 + (int)i;
	return 0;
}

static void judge_failures(struct kp_parallel *pool, const uint64_t *at, unsigned n,
	uint64_t length, int status)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct failures failures = {.n = n};

		memcpy(failures.at, at, n * sizeof(at[0]));
		ck_assert_int_eq(
			kp_parallel_for(pool, length, fail_at, &failures), status);
		ck_assert_uint_eq(atomic_load(&failures.runs), length);
	}
}

START_TEST(k06_lowest_failing_index_is_reported_every_time)
{
	struct kp_parallel *pool = pool_of(sizes[_i]);

	judge_failures(pool, (uint64_t[]){7, 3}, 2, 8, 103);
	judge_failures(pool, (uint64_t[]){3, 7}, 2, 64, 103);
	judge_failures(pool, (uint64_t[]){7, 3, 5}, 3, 9, 103);
	judge_failures(pool, (uint64_t[]){63, 0, 31}, 3, 64, 100);
	judge_failures(pool, (uint64_t[]){7}, 1, 8, 107);
	kp_parallel_free(pool);
}
END_TEST

struct late {
	atomic_bool seven_failed;
};

/* Index 3 ends only after 7 has failed, whoever runs them. */
static int fail_late(void *arg, uint64_t i)
{
	struct late *late = arg;

	if (i == 7)
		atomic_store(&late->seven_failed, true);
	while (i == 3 && !atomic_load(&late->seven_failed))
		;
	return i == 3 || i == 7 ? 100 + (int)i : 0;
}

START_TEST(k06_lowest_failing_index_is_reported_although_it_fails_last)
{
	struct kp_parallel *pool = pool_of(sizes[_i + 1]);

	for (int round = 0; round < ROUNDS; round++) {
		struct late late = {false};

		ck_assert_int_eq(kp_parallel_for(pool, 8, fail_late, &late), 103);
	}
	kp_parallel_free(pool);
}
END_TEST

START_TEST(k06_failure_of_one_loop_is_not_that_of_the_next)
{
	struct kp_parallel *pool = pool_of(sizes[_i]);

	for (int round = 0; round < 20; round++) {
		struct failures failures = {.at = {3}, .n = 1}, none = {.n = 0};

		ck_assert_int_eq(kp_parallel_for(pool, 8, fail_at, &failures), 103);
		ck_assert_int_eq(kp_parallel_for(pool, 8, fail_at, &none), 0);
	}
	kp_parallel_free(pool);
}
END_TEST

/* ---- several at a time --------------------------------------------------------- */

struct nest {
	struct kp_parallel *pool;
	unsigned char seen[6][9];
};

static int run_inner(void *arg, uint64_t i)
{
	struct nest *nest = arg;

	return kp_parallel_for(nest->pool, 9, count_up, nest->seen[i]);
}

START_TEST(loop_inside_a_task_is_run_by_its_thread)
{
	struct nest nest = {.pool = pool_of(sizes[_i])};

	ck_assert_int_eq(kp_parallel_for(nest.pool, 6, run_inner, &nest), 0);
	for (int i = 0; i < 6; i++)
		for (int j = 0; j < 9; j++)
			ck_assert_uint_eq(nest.seen[i][j], 1);
	kp_parallel_free(nest.pool);
}
END_TEST

struct caller {
	struct kp_parallel *pool;
	unsigned char seen[100];
};

static void *call_often(void *arg)
{
	struct caller *caller = arg;

	for (int i = 0; i < 50; i++)
		if (kp_parallel_for(caller->pool, 100, count_up, caller->seen) != 0)
			return caller;
	return NULL;
}

START_TEST(threads_of_an_application_may_call_at_the_same_time)
{
	struct caller callers[3] = {{0}};
	pthread_t threads[3];
	struct kp_parallel *pool = pool_of(sizes[_i]);

	for (int i = 0; i < 3; i++) {
		callers[i].pool = pool;
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
	}
	for (int i = 0; i < 3; i++) {
		void *failed = NULL;
		pthread_join(threads[i], &failed);
		ck_assert_ptr_null(failed);
		for (int j = 0; j < 100; j++)
			ck_assert_uint_eq(callers[i].seen[j], 50);
	}
	kp_parallel_free(pool);
}
END_TEST

/* ---- bounds -------------------------------------------------------------------- */

START_TEST(number_of_threads_is_bounded)
{
	static const unsigned wrong[] = {0, KP_PARALLEL_MOST + 1, 1u << 31};
	struct kp_parallel *pool = NULL;

	for (int i = 0; i < 3; i++) {
		struct kp_diag diag;
		ck_assert_int_eq(kp_parallel_new(wrong[i], &pool, &diag), -1);
		ck_assert_str_eq(diag.code, "bad_threads");
		ck_assert_ptr_null(pool);
	}
	kp_parallel_free(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("parallel");
	TCase *t = tcase_create("parallel");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, every_index_is_run_once, 0, SIZES);
	tcase_add_loop_test(t, loops_follow_each_other_without_mixing, 0, SIZES);
	tcase_add_loop_test(t, all_threads_take_part_and_the_caller_is_one, 0, SIZES);
	tcase_add_loop_test(t, k06_lowest_failing_index_is_reported_every_time, 0, SIZES);
	tcase_add_loop_test(t,
		k06_lowest_failing_index_is_reported_although_it_fails_last, 0,
		SIZES - 1);
	tcase_add_loop_test(t, k06_failure_of_one_loop_is_not_that_of_the_next, 0, SIZES);
	tcase_add_loop_test(t, loop_inside_a_task_is_run_by_its_thread, 0, SIZES);
	tcase_add_loop_test(
		t, threads_of_an_application_may_call_at_the_same_time, 0, SIZES);
	tcase_add_test(t, number_of_threads_is_bounded);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
