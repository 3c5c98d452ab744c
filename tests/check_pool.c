/* SPDX-License-Identifier: MIT */
/* Order, cancelling, losing and closing, with the real launcher. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/support/suite.h"
#include "tests/support/unconfined.h"
#include "tests/support/workers.h"

enum { LONG_MS = 3600000 };

static struct workers workers;

/* The first loop of a process makes two descriptors that stay. */
static size_t count_fds(void)
{
	uv_loop_t loop;
	size_t count = 0;
	ck_assert_int_eq(uv_loop_init(&loop), 0);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
	DIR *dir = opendir("/proc/self/fd");
	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* A child of `parent`, or 0. */
static pid_t child_of(pid_t parent)
{
	pid_t found = 0;
	DIR *proc = opendir("/proc");
	ck_assert_ptr_nonnull(proc);
	for (struct dirent *entry; !found && (entry = readdir(proc));) {
		char path[300];
		char text[512] = "";
		int of = 0;
		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		FILE *file = fopen(path, "re");
		if (!file)
			continue;
		if (fgets(text, sizeof(text), file) && strrchr(text, ')') &&
			sscanf(strrchr(text, ')') + 1, " %*c %d", &of) == 1 &&
			of == parent)
			found = (pid_t)strtol(entry->d_name, NULL, 10);
		fclose(file);
	}
	closedir(proc);
	return found;
}

static void wait_for_line(const struct outcome *outcome)
{
	while (json_array_size(outcome->lines) == 0)
		ck_assert_int_ne(uv_run(&workers.loop, UV_RUN_DEFAULT), 0);
}

/* A worker that says that it loads, and hangs. */
static struct pool_job *start_hanging(struct outcome *outcome)
{
	outcome_init(outcome);
	struct pool_job *job = workers_submit_probe(
		&workers, "hang_in_constructor", -1, LONG_MS, outcome);
	wait_for_line(outcome);
	return job;
}

START_TEST(an_unused_pool_starts_nothing_and_closes)
{
	workers_start(&workers, 4);
	workers_stop(&workers);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}
END_TEST

START_TEST(a_hundred_jobs_run_and_leave_no_descriptor)
{
	static struct outcome outcomes[100];
	size_t before = count_fds();
	workers_start(&workers, 4);
	for (size_t i = 0; i < 100; i++) {
		outcome_init(&outcomes[i]);
		workers_submit_identify(&workers, "plain", &outcomes[i]);
	}
	for (size_t i = 0; i < 100; i++) {
		while (outcomes[i].ends == 0) {
			ck_assert_uint_le(pool_running(workers.pool), 4);
			uv_run(&workers.loop, UV_RUN_DEFAULT);
		}
		ck_assert_int_eq(outcomes[i].result.end, KP_WORKER_DONE);
		outcome_finish(&outcomes[i]);
	}
	ck_assert_uint_eq(pool_started(workers.pool), 100);
	ck_assert_uint_eq(pool_lost(workers.pool), 0);
	workers_stop(&workers);
	ck_assert_uint_eq(count_fds(), before);
}
END_TEST

START_TEST(a_job_of_4_mib_arrives_whole)
{
	struct outcome outcome;
	char *text = malloc((4 << 20) + 1);
	ck_assert_ptr_nonnull(text);
	memset(text, 'x', 4 << 20);
	text[4 << 20] = '\0';
	workers_start(&workers, 1);
	outcome_init(&outcome);
	workers_submit(&workers, json_pack("{s:s, s:s}", "padding", text, "kind", "none"),
		-1, 60000, &outcome);
	workers_wait(&workers, &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
	ck_assert_str_eq(outcome_failed(&outcome), "bad_job");
	ck_assert_ptr_nonnull(strstr(outcome_message(&outcome), "none"));
	outcome_finish(&outcome);
	free(text);
	workers_stop(&workers);
}
END_TEST

START_TEST(a_worker_that_is_not_there_is_told)
{
	struct outcome outcome;
	workers_start(&workers, 1);
	pool_close(workers.pool, NULL, NULL);
	uv_run(&workers.loop, UV_RUN_DEFAULT);
	struct pool_options options = {.worker = "/nonexistent/worker", .slots = 1};
	workers.pool = pool_new(&workers.loop, &options);
	outcome_init(&outcome);
	workers_submit(
		&workers, json_pack("{s:s}", "kind", "identify"), -1, 1000, &outcome);
	workers_wait(&workers, &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_LOST);
	ck_assert_ptr_nonnull(strstr(outcome.result.diag.message, "/nonexistent/worker"));
	outcome_finish(&outcome);
	workers_stop(&workers);
}
END_TEST

struct order {
	struct outcome outcome;
	unsigned number;
};
static unsigned next_number;

static void on_ordered_end(void *context, const struct kp_worker_result *result)
{
	struct order *order = context;
	order->outcome.ends++;
	order->outcome.result = *result;
	order->number = next_number++;
	uv_stop(&workers.loop);
}

static void submit_ordered(struct order *order)
{
	struct pool_request request = {
		.job = json_pack("{s:s}", "kind", "none"),
		.timeout_ms = 60000,
		.on_end = on_ordered_end,
		.context = order,
	};
	*order = (struct order){.number = 0};
	ck_assert_ptr_nonnull(pool_submit(workers.pool, &request));
	json_decref(request.job);
}

START_TEST(jobs_that_wait_run_in_their_order)
{
	struct order orders[4];
	workers_start(&workers, 1);
	for (unsigned i = 0; i < 4; i++)
		submit_ordered(&orders[i]);
	workers_wait(&workers, &orders[3].outcome);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(orders[i].number, i);
	workers_stop(&workers);
}
END_TEST

START_TEST(a_waiting_job_can_be_cancelled)
{
	struct outcome running;
	struct outcome waiting;
	workers_start(&workers, 1);
	struct pool_job *first = start_hanging(&running);
	outcome_init(&waiting);
	struct pool_job *job = workers_submit(
		&workers, json_pack("{s:s}", "kind", "none"), -1, 1000, &waiting);
	pool_cancel(job);
	ck_assert_uint_eq(waiting.ends, 0);
	workers_wait(&workers, &waiting);
	ck_assert_int_eq(waiting.result.end, KP_WORKER_CANCELLED);
	ck_assert_uint_eq(running.ends, 0);
	pool_cancel(first);
	workers_wait(&workers, &running);
	ck_assert_int_eq(running.result.end, KP_WORKER_CANCELLED);
	outcome_finish(&running);
	outcome_finish(&waiting);
	workers_stop(&workers);
}
END_TEST

START_TEST(a_job_that_was_just_submitted_can_be_cancelled)
{
	struct outcome outcome;
	workers_start(&workers, 1);
	outcome_init(&outcome);
	pool_cancel(workers_submit_probe(
		&workers, "hang_in_constructor", -1, LONG_MS, &outcome));
	workers_wait(&workers, &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_CANCELLED);
	outcome_finish(&outcome);
	workers_stop(&workers);
}
END_TEST

struct cancelling {
	struct pool_job *job;
	unsigned ends;
	int end;
};

static void cancel_on_line(void *context, json_t *line)
{
	(void)line;
	pool_cancel(((struct cancelling *)context)->job);
}

static void on_cancelled_end(void *context, const struct kp_worker_result *result)
{
	struct cancelling *cancelling = context;
	cancelling->ends++;
	cancelling->end = (int)result->end;
	uv_stop(&workers.loop);
}

START_TEST(a_job_can_be_cancelled_from_its_own_line)
{
	struct cancelling cancelling = {.ends = 0};
	struct pool_request request = {
		.job = json_pack("{s:s}", "kind", "none"),
		.timeout_ms = 60000,
		.on_line = cancel_on_line,
		.on_end = on_cancelled_end,
		.context = &cancelling,
	};
	workers_start(&workers, 1);
	cancelling.job = pool_submit(workers.pool, &request);
	json_decref(request.job);
	while (cancelling.ends == 0)
		uv_run(&workers.loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(cancelling.end, KP_WORKER_CANCELLED);
	workers_stop(&workers);
}
END_TEST

START_TEST(a_launcher_that_dies_loses_its_workers_and_is_replaced)
{
	struct outcome running;
	struct outcome waiting;
	workers_start(&workers, 1);
	start_hanging(&running);
	outcome_init(&waiting);
	workers_submit_identify(&workers, "plain", &waiting);
	ck_assert_int_eq(kill(child_of(getpid()), SIGKILL), 0);
	workers_wait(&workers, &running);
	ck_assert_int_eq(running.result.end, KP_WORKER_LOST);
	ck_assert_str_eq(running.result.diag.code, "worker_lost");
	workers_wait(&workers, &waiting);
	ck_assert_int_eq(waiting.result.end, KP_WORKER_DONE);
	ck_assert_uint_eq(pool_lost(workers.pool), 1);
	outcome_finish(&running);
	outcome_finish(&waiting);
	workers_stop(&workers);
}
END_TEST

START_TEST(a_launcher_that_is_killed_takes_its_workers_along)
{
	int ends[2];
	char byte;
	struct outcome outcome;
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	workers_start(&workers, 1);
	outcome_init(&outcome);
	workers_submit_probe(&workers, "hang_in_constructor", ends[1], LONG_MS, &outcome);
	close(ends[1]);
	wait_for_line(&outcome);
	ck_assert_int_eq(kill(child_of(getpid()), SIGKILL), 0);
	workers_wait(&workers, &outcome);
	workers_settle(&workers);
	/* Blocks until the last process of the job is gone. */
	ck_assert_int_eq(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	outcome_finish(&outcome);
	workers_stop(&workers);
}
END_TEST

START_TEST(who_kills_its_keeper_has_failed_alone)
{
	struct outcome outcome;
	struct outcome other;
	unconfined_become(true, true);
	workers_start(&workers, 2);
	outcome_init(&outcome);
	outcome_init(&other);
	workers_submit_probe(&workers, "kills_its_keeper", -1, LONG_MS, &outcome);
	workers_submit_probe(&workers, "plain", -1, LONG_MS, &other);
	workers_wait(&workers, &other);
	if (outcome.ends == 0)
		workers_wait(&workers, &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_KILLED_PARENT);
	ck_assert_str_eq(outcome.result.diag.code, "killed_its_keeper");
	ck_assert_str_eq(outcome.result.stage, "load");
	ck_assert_int_eq(other.result.end, KP_WORKER_DONE);
	ck_assert_uint_eq(pool_lost(workers.pool), 0);
	outcome_finish(&outcome);
	outcome_finish(&other);
	workers_stop(&workers);
}
END_TEST

START_TEST(who_kills_the_launcher_among_others_is_lost_with_them)
{
	struct outcome outcome;
	struct outcome other;
	unconfined_become(true, true);
	workers_start(&workers, 2);
	start_hanging(&other);
	outcome_init(&outcome);
	workers_submit_probe(&workers, "kills_the_launcher", -1, LONG_MS, &outcome);
	workers_wait(&workers, &outcome);
	if (other.ends == 0)
		workers_wait(&workers, &other);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_LOST);
	ck_assert_int_eq(other.result.end, KP_WORKER_LOST);
	outcome_finish(&outcome);
	outcome_finish(&other);
	workers_stop(&workers);
}
END_TEST

START_TEST(who_kills_the_launcher_alone_has_done_it)
{
	struct outcome outcome;
	unconfined_become(true, true);
	workers_start(&workers, 2);
	outcome_init(&outcome);
	outcome.alone = true;
	workers_submit_probe(&workers, "kills_the_launcher", -1, LONG_MS, &outcome);
	workers_wait(&workers, &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_KILLED_PARENT);
	ck_assert_str_eq(outcome.result.diag.code, "killed_the_launcher");
	ck_assert_uint_eq(pool_lost(workers.pool), 1);
	outcome_finish(&outcome);
	workers_stop(&workers);
}
END_TEST

START_TEST(who_runs_alone_waits_for_others_and_they_for_it)
{
	struct outcome running, alone, behind;
	workers_start(&workers, 3);
	struct pool_job *first = start_hanging(&running);
	outcome_init(&alone);
	outcome_init(&behind);
	alone.alone = true;
	struct pool_job *second = workers_submit_probe(
		&workers, "hang_in_constructor", -1, LONG_MS, &alone);
	workers_submit(&workers, json_pack("{s:s}", "kind", "none"), -1, 60000, &behind);
	uv_run(&workers.loop, UV_RUN_NOWAIT);
	ck_assert_uint_eq(pool_running(workers.pool), 1);
	pool_cancel(first);
	wait_for_line(&alone);
	ck_assert_int_eq(running.result.end, KP_WORKER_CANCELLED);
	ck_assert_uint_eq(pool_running(workers.pool), 1);
	ck_assert_uint_eq(behind.ends, 0);
	pool_cancel(second);
	workers_wait(&workers, &behind);
	ck_assert_int_eq(alone.result.end, KP_WORKER_CANCELLED);
	ck_assert_int_eq(behind.result.end, KP_WORKER_DONE);
	outcome_finish(&running);
	outcome_finish(&alone);
	outcome_finish(&behind);
	workers_stop(&workers);
}
END_TEST

START_TEST(closing_ends_twenty_workers_that_hang_and_all_that_wait)
{
	static struct outcome outcomes[22];
	size_t before = count_fds();
	workers_start(&workers, 20);
	for (size_t i = 0; i < 22; i++) {
		if (i < 20) {
			start_hanging(&outcomes[i]);
			continue;
		}
		outcome_init(&outcomes[i]);
		workers_submit(&workers, json_pack("{s:s}", "kind", "none"), -1, 1000,
			&outcomes[i]);
	}
	pool_close(workers.pool, workers_on_closed, &workers);
	ck_assert_uint_eq(outcomes[0].ends + outcomes[21].ends, 0);
	workers_run_out(&workers);
	ck_assert_int_eq(workers.closed, 1);
	for (size_t i = 0; i < 22; i++) {
		ck_assert_uint_eq(outcomes[i].ends, 1);
		ck_assert_int_eq(outcomes[i].result.end, KP_WORKER_CANCELLED);
		outcome_finish(&outcomes[i]);
	}
	ck_assert_int_eq(uv_loop_close(&workers.loop), 0);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	ck_assert_uint_eq(count_fds(), before);
}
END_TEST

START_TEST(a_launcher_that_is_stopped_does_not_hold_up_closing)
{
	struct outcome outcome;
	workers_start(&workers, 1);
	start_hanging(&outcome);
	ck_assert_int_eq(kill(child_of(getpid()), SIGSTOP), 0);
	workers_stop(&workers);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_CANCELLED);
	outcome_finish(&outcome);
}
END_TEST

START_TEST(a_closing_pool_takes_no_job)
{
	struct pool_request request = {.job = NULL};
	workers_start(&workers, 1);
	pool_close(workers.pool, NULL, NULL);
	ck_assert_ptr_null(pool_submit(workers.pool, &request));
	uv_run(&workers.loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(uv_loop_close(&workers.loop), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pool");
	TCase *tcase = tcase_create("pool");
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, an_unused_pool_starts_nothing_and_closes);
	tcase_add_test(tcase, a_hundred_jobs_run_and_leave_no_descriptor);
	tcase_add_test(tcase, a_job_of_4_mib_arrives_whole);
	tcase_add_test(tcase, a_worker_that_is_not_there_is_told);
	tcase_add_test(tcase, jobs_that_wait_run_in_their_order);
	tcase_add_test(tcase, a_waiting_job_can_be_cancelled);
	tcase_add_test(tcase, a_job_that_was_just_submitted_can_be_cancelled);
	tcase_add_test(tcase, a_job_can_be_cancelled_from_its_own_line);
	tcase_add_test(tcase, a_launcher_that_dies_loses_its_workers_and_is_replaced);
	tcase_add_test(tcase, a_launcher_that_is_killed_takes_its_workers_along);
	tcase_add_test(tcase, who_kills_its_keeper_has_failed_alone);
	tcase_add_test(tcase, who_kills_the_launcher_among_others_is_lost_with_them);
	tcase_add_test(tcase, who_kills_the_launcher_alone_has_done_it);
	tcase_add_test(tcase, who_runs_alone_waits_for_others_and_they_for_it);
	tcase_add_test(tcase, closing_ends_twenty_workers_that_hang_and_all_that_wait);
	tcase_add_test(tcase, a_launcher_that_is_stopped_does_not_hold_up_closing);
	tcase_add_test(tcase, a_closing_pool_takes_no_job);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
