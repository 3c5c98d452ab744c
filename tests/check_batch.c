/* SPDX-License-Identifier: MIT */
/* What is believed of a worker that identified several libraries, and who is asked again.
 */
#include "daemon/pipeline/batch.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/suite.h"

/* ---- a pool that is played ----------------------------------------------------------
 */

enum { JOBS_MOST = 64 };

struct pool_job {
	struct pool_request request;
	bool cancelled, over;
};

struct pool {
	struct pool_job jobs[JOBS_MOST];
	size_t count;
	bool closing;
};

static struct pool pool;

struct pool_job *pool_submit(struct pool *to, const struct pool_request *request)
{
	if (to->closing)
		return NULL;
	ck_assert_uint_lt(to->count, JOBS_MOST);
	struct pool_job *job = &to->jobs[to->count++];
	*job = (struct pool_job){.request = *request};
	json_incref(job->request.job);
	return job;
}

void pool_cancel(struct pool_job *job)
{
	ck_assert(!job->over);
	job->cancelled = true;
}

static const json_t *files_of(const struct pool_job *job)
{
	return json_object_get(job->request.job, "files");
}

static void tell(struct pool_job *job, const char *text)
{
	json_t *line = json_loads(text, 0, NULL);
	ck_assert_ptr_nonnull(line);
	job->request.on_line(job->request.context, line);
	json_decref(line);
}

static void tell_begin(struct pool_job *job, size_t i)
{
	char text[64];
	(void)snprintf(text, sizeof(text), "{\"begin\":%zu}", i);
	tell(job, text);
}

static void tell_about(struct pool_job *job, size_t i)
{
	char text[64];
	tell_begin(job, i);
	(void)snprintf(text, sizeof(text), "{\"elf\":{\"it\":%zu}}", i);
	tell(job, text);
	tell(job, "{\"took_ms\":0.5}");
}

static void tell_all(struct pool_job *job)
{
	for (size_t i = 0; i < json_array_size(files_of(job)); i++)
		tell_about(job, i);
}

static void finish(struct pool_job *job, const struct kp_worker_result *result)
{
	json_t *text = job->request.job;
	job->over = true;
	job->request.on_end(job->request.context, result);
	json_decref(text);
}

static void finish_as(struct pool_job *job, enum kp_worker_end end)
{
	finish(job, &(struct kp_worker_result){.end = end});
}

/* ---- who asks ------------------------------------------------------------------------
 */

enum { ASKERS = 70 };

struct asker {
	struct batch_item *item;
	char name[16];
	size_t lines, ends;
	int64_t heard; /* of the last line */
	struct kp_worker_result result;
	struct asker *cancels; /* when this one ends */
};

static struct batches batches;
static struct asker askers[ASKERS];

static void hear(void *context, json_t *line)
{
	struct asker *asker = context;
	ck_assert_uint_eq(asker->ends, 0);
	asker->lines++;
	asker->heard =
		json_integer_value(json_object_get(json_object_get(line, "elf"), "it"));
}

static void hear_end(void *context, const struct kp_worker_result *result)
{
	struct asker *asker = context;
	asker->ends++;
	asker->item = NULL;
	asker->result = *result;
	if (asker->cancels)
		batches_cancel(asker->cancels->item);
}

static struct batch_item *ask(size_t i)
{
	struct asker *asker = &askers[i];
	int ends[2];
	*asker = (struct asker){.heard = -1};
	(void)snprintf(asker->name, sizeof(asker->name), "lib%02zu.so", i);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(close(ends[1]), 0);
	struct pool_request request = {
		.job = json_pack("{s:s, s:s, s:b}", "kind", "identify", "file",
			asker->name, "part", 0),
		.fds = {ends[0]},
		.n_fds = 1,
		.timeout_ms = 10000,
		.identifies = true,
		.on_line = hear,
		.on_end = hear_end,
		.context = asker,
	};
	asker->item = batches_submit(&batches, &request);
	json_decref(request.job);
	return asker->item;
}

/* Two run, each with one; the others wait for an end. */
static void ask_many(size_t count)
{
	for (size_t i = 0; i < count; i++)
		ck_assert_ptr_nonnull(ask(i));
	ck_assert_uint_eq(pool.count, BATCHES_MOST);
}

static struct pool_job *third_of(size_t count)
{
	ask_many(count);
	tell_all(&pool.jobs[0]);
	finish_as(&pool.jobs[0], KP_WORKER_DONE);
	ck_assert_uint_eq(pool.count, BATCHES_MOST + 1);
	return &pool.jobs[BATCHES_MOST];
}

/* Everything that runs ends well. */
static void finish_all(void)
{
	for (size_t i = 0; i < pool.count; i++) {
		struct pool_job *job = &pool.jobs[i];
		if (job->over)
			continue;
		if (job->cancelled) {
			finish_as(job, KP_WORKER_CANCELLED);
			continue;
		}
		if (files_of(job))
			tell_all(job);
		else
			tell(job, "{\"elf\":{\"it\":77}}");
		finish_as(job, KP_WORKER_DONE);
	}
}

static void set_up(void)
{
	pool = (struct pool){.count = 0};
	batches_init(&batches, &pool);
}

static void tear_down(void)
{
	finish_all();
	ck_assert_uint_eq(batches.running, 0);
	ck_assert(TAILQ_EMPTY(&batches.waiting));
}

/* ---- together ------------------------------------------------------------------------
 */

START_TEST(who_comes_while_others_run_is_asked_about_together)
{
	struct pool_job *job = third_of(7);
	ck_assert_uint_eq(json_array_size(files_of(job)), 5);
	ck_assert_uint_eq(job->request.n_fds, 5);
	ck_assert_uint_eq(job->request.timeout_ms, BATCH_MS);
	ck_assert(job->request.identifies);
	for (size_t i = 0; i < 5; i++)
		ck_assert_str_eq(json_string_value(json_object_get(
					 json_array_get(files_of(job), i), "file")),
			askers[i + 2].name);
}
END_TEST

START_TEST(no_batch_is_larger_than_the_most)
{
	struct pool_job *job = third_of(ASKERS);
	ck_assert_uint_eq(json_array_size(files_of(job)), BATCH_MOST);
	finish_all();
	for (size_t i = 0; i < ASKERS; i++)
		ck_assert_uint_eq(askers[i].ends, 1);
}
END_TEST

START_TEST(each_gets_its_own_lines_and_time_when_all_has_ended_well)
{
	struct pool_job *job = third_of(6);
	tell_all(job);
	for (size_t i = 2; i < 6; i++)
		ck_assert_uint_eq(askers[i].lines + askers[i].ends, 0);
	finish_as(job, KP_WORKER_DONE);
	for (size_t i = 2; i < 6; i++) {
		ck_assert_uint_eq(askers[i].lines, 1);
		ck_assert_int_eq(askers[i].heard, (int64_t)i - 2);
		ck_assert_uint_eq(askers[i].ends, 1);
		ck_assert_int_eq(askers[i].result.end, KP_WORKER_DONE);
		ck_assert_str_eq(askers[i].result.stage, "identify");
		ck_assert(askers[i].result.elapsed_ms == 0.5);
	}
}
END_TEST

/* ---- disorder -------------------------------------------------------------------------
 */

static void all(struct pool_job *job)
{
	tell_all(job);
}

static void nothing(struct pool_job *job)
{
	(void)job;
}

static void first_two(struct pool_job *job)
{
	tell_about(job, 0);
	tell_about(job, 1);
}

static void all_but_the_last_end(struct pool_job *job)
{
	first_two(job);
	tell_begin(job, 2);
	tell(job, "{\"elf\":{}}");
}

static void in_another_order(struct pool_job *job)
{
	tell_about(job, 1);
	tell_about(job, 0);
	tell_about(job, 2);
}

static void one_twice(struct pool_job *job)
{
	first_two(job);
	tell_about(job, 1);
}

static void one_too_many(struct pool_job *job)
{
	tell_all(job);
	tell_about(job, 3);
}

static void one_within_another(struct pool_job *job)
{
	tell_begin(job, 0);
	tell_about(job, 1);
	tell_about(job, 2);
}

static void words_between(struct pool_job *job)
{
	tell_about(job, 0);
	tell(job, "{\"elf\":{\"it\":9}}");
	tell_about(job, 1);
	tell_about(job, 2);
}

static void words_behind(struct pool_job *job)
{
	tell_all(job);
	tell(job, "{\"failed\":{\"code\":\"x\"}}");
}

static void two_ends(struct pool_job *job)
{
	tell_about(job, 0);
	tell(job, "{\"took_ms\":1}");
	tell_about(job, 1);
	tell_about(job, 2);
}

static const struct {
	void (*tells)(struct pool_job *job);
	enum kp_worker_end end;
	const char *refused, *output;
} disorders[] = {
	{nothing, KP_WORKER_KILLED, "", ""},
	{first_two, KP_WORKER_KILLED, "", ""},
	{all, KP_WORKER_KILLED, "", ""},
	{nothing, KP_WORKER_TIMED_OUT, "", ""},
	{first_two, KP_WORKER_TIMED_OUT, "", ""},
	{all_but_the_last_end, KP_WORKER_TIMED_OUT, "", ""},
	{first_two, KP_WORKER_EXITED, "", ""},
	{first_two, KP_WORKER_GARBLED, "", ""},
	{all, KP_WORKER_GARBLED, "", ""},
	{first_two, KP_WORKER_KILLED_PARENT, "", ""},
	{all, KP_WORKER_LINGERED, "", ""},
	{first_two, KP_WORKER_REFUSED, "it may not send signals", ""},
	{all, KP_WORKER_DONE, "it may not start processes (fork)", ""},
	{all, KP_WORKER_DONE, "", "about to look at it"},
	{first_two, KP_WORKER_LOST, "", ""},
	{nothing, KP_WORKER_DONE, "", ""},
	{first_two, KP_WORKER_DONE, "", ""},
	{all_but_the_last_end, KP_WORKER_DONE, "", ""},
	{in_another_order, KP_WORKER_DONE, "", ""},
	{one_twice, KP_WORKER_DONE, "", ""},
	{one_too_many, KP_WORKER_DONE, "", ""},
	{one_within_another, KP_WORKER_DONE, "", ""},
	{words_between, KP_WORKER_DONE, "", ""},
	{words_behind, KP_WORKER_DONE, "", ""},
	{two_ends, KP_WORKER_DONE, "", ""},
};

START_TEST(what_did_not_end_as_agreed_is_not_believed_and_each_is_asked_about_alone)
{
	struct pool_job *job = third_of(5);
	struct kp_worker_result result = {.end = disorders[_i].end};
	(void)snprintf(
		result.refused, sizeof(result.refused), "%s", disorders[_i].refused);
	(void)snprintf(result.output, sizeof(result.output), "%s", disorders[_i].output);
	disorders[_i].tells(job);
	size_t before = pool.count;
	finish(job, &result);
	ck_assert_uint_eq(pool.count, before + 3);
	for (size_t i = 0; i < 3; i++) {
		struct pool_job *alone = &pool.jobs[before + i];
		ck_assert_uint_eq(askers[i + 2].lines + askers[i + 2].ends, 0);
		ck_assert_ptr_null(files_of(alone));
		ck_assert_str_eq(
			json_string_value(json_object_get(alone->request.job, "file")),
			askers[i + 2].name);
		ck_assert_uint_eq(alone->request.n_fds, 1);
		ck_assert_uint_eq(alone->request.timeout_ms, 10000);
	}
}
END_TEST

START_TEST(who_is_bad_alone_is_so_alone)
{
	struct pool_job *job = third_of(5);
	size_t before = pool.count;
	finish_as(job, KP_WORKER_KILLED);
	tell(&pool.jobs[before], "{\"elf\":{\"it\":40}}");
	finish_as(&pool.jobs[before], KP_WORKER_DONE);
	finish_as(&pool.jobs[before + 1], KP_WORKER_KILLED);
	tell(&pool.jobs[before + 2], "{\"elf\":{\"it\":42}}");
	finish_as(&pool.jobs[before + 2], KP_WORKER_DONE);
	ck_assert_int_eq(askers[2].heard, 40);
	ck_assert_int_eq(askers[2].result.end, KP_WORKER_DONE);
	ck_assert_int_eq(askers[3].result.end, KP_WORKER_KILLED);
	ck_assert_int_eq(askers[4].heard, 42);
	ck_assert_int_eq(askers[4].result.end, KP_WORKER_DONE);
}
END_TEST

START_TEST(those_that_hang_alone_hold_up_no_batch)
{
	ask_many(2);
	finish_as(&pool.jobs[0], KP_WORKER_TIMED_OUT);
	finish_as(&pool.jobs[1], KP_WORKER_TIMED_OUT);
	ck_assert_uint_eq(pool.count, 4);
	ck_assert_uint_eq(batches.running, 0);
	for (size_t i = 2; i < 4; i++) {
		ck_assert_ptr_nonnull(ask(i));
		ck_assert_uint_eq(json_array_size(files_of(&pool.jobs[i + 2])), 1);
	}
}
END_TEST

/* ---- cancelling
 * ------------------------------------------------------------------------ */

START_TEST(who_is_cancelled_among_others_hears_nothing_and_they_go_on)
{
	struct pool_job *job = third_of(5);
	batches_cancel(askers[3].item);
	ck_assert(!job->cancelled);
	ck_assert_uint_eq(askers[3].ends, 0);
	tell_all(job);
	finish_as(job, KP_WORKER_DONE);
	ck_assert_uint_eq(askers[3].lines, 0);
	ck_assert_int_eq(askers[3].result.end, KP_WORKER_CANCELLED);
	ck_assert_int_eq(askers[2].result.end, KP_WORKER_DONE);
	ck_assert_int_eq(askers[4].result.end, KP_WORKER_DONE);
}
END_TEST

START_TEST(a_batch_that_nobody_wants_any_more_is_ended)
{
	struct pool_job *job = third_of(5);
	for (size_t i = 2; i < 5; i++) {
		ck_assert(!job->cancelled);
		batches_cancel(askers[i].item);
	}
	ck_assert(job->cancelled);
}
END_TEST

START_TEST(who_is_cancelled_while_it_waits_is_never_asked_about_alone)
{
	ask_many(4);
	batches_cancel(askers[2].item);
	batches_cancel(askers[3].item);
	ck_assert_uint_eq(askers[2].ends + askers[3].ends, 0);
	finish_all();
	ck_assert_int_eq(askers[2].result.end, KP_WORKER_CANCELLED);
	ck_assert_int_eq(askers[3].result.end, KP_WORKER_CANCELLED);
}
END_TEST

START_TEST(who_is_cancelled_alone_has_its_worker_ended)
{
	struct pool_job *job = third_of(4);
	size_t before = pool.count;
	finish_as(job, KP_WORKER_KILLED);
	batches_cancel(askers[2].item);
	ck_assert(pool.jobs[before].cancelled);
	ck_assert(!pool.jobs[before + 1].cancelled);
}
END_TEST

START_TEST(an_end_may_cancel_those_of_its_batch_that_come_later)
{
	struct pool_job *job = third_of(5);
	askers[2].cancels = &askers[4];
	tell_all(job);
	finish_as(job, KP_WORKER_DONE);
	ck_assert_int_eq(askers[3].result.end, KP_WORKER_DONE);
	ck_assert_int_eq(askers[4].result.end, KP_WORKER_CANCELLED);
	ck_assert_uint_eq(askers[4].lines, 0);
}
END_TEST

START_TEST(a_pool_that_closes_takes_nobody_and_leaves_nobody_waiting)
{
	ask_many(5);
	pool.closing = true;
	finish_as(&pool.jobs[0], KP_WORKER_CANCELLED);
	for (size_t i = 2; i < 5; i++)
		ck_assert_int_eq(askers[i].result.end, KP_WORKER_LOST);
	ck_assert_int_eq(askers[0].result.end, KP_WORKER_LOST);
	ck_assert_ptr_null(ask(5));
	ck_assert_uint_eq(askers[5].ends, 0);
}
END_TEST

static TCase *cases(void)
{
	TCase *tcase = tcase_create("batch");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, who_comes_while_others_run_is_asked_about_together);
	tcase_add_test(tcase, no_batch_is_larger_than_the_most);
	tcase_add_test(tcase, each_gets_its_own_lines_and_time_when_all_has_ended_well);
	tcase_add_loop_test(tcase,
		what_did_not_end_as_agreed_is_not_believed_and_each_is_asked_about_alone,
		0, sizeof(disorders) / sizeof(disorders[0]));
	tcase_add_test(tcase, who_is_bad_alone_is_so_alone);
	tcase_add_test(tcase, those_that_hang_alone_hold_up_no_batch);
	tcase_add_test(tcase, who_is_cancelled_among_others_hears_nothing_and_they_go_on);
	tcase_add_test(tcase, a_batch_that_nobody_wants_any_more_is_ended);
	tcase_add_test(tcase, who_is_cancelled_while_it_waits_is_never_asked_about_alone);
	tcase_add_test(tcase, who_is_cancelled_alone_has_its_worker_ended);
	tcase_add_test(tcase, an_end_may_cancel_those_of_its_batch_that_come_later);
	tcase_add_test(tcase, a_pool_that_closes_takes_nobody_and_leaves_nobody_waiting);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("batch");
	suite_add_tcase(suite, cases());
	return suite_run(suite);
}
