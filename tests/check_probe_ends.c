/* SPDX-License-Identifier: MIT */
/* However a plugin ends its worker, or keeps it from an end: told, and nothing is left.
 */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/suite.h"
#include "tests/support/unconfined.h"
#include "tests/support/workers.h"

static struct workers workers;
static struct outcome outcome;

static void set_up(void)
{
	workers_start(&workers, 4);
	outcome_init(&outcome);
}

static void tear_down(void)
{
	workers_stop(&workers);
	outcome_finish(&outcome);
}

static const char *message(void)
{
	return outcome.result.diag.message;
}

static const struct {
	const char *fixture, *stage;
} hanging[] = {
	{"hang_in_constructor", "load"},
	{"hang_on_mutex", "load"},
	{"hang_on_a_thread", "load"},
	{"hang_in_ifunc", NULL}, /* where it is then: check_relocation */
	{"hang_in_its_exit", "load"},
	{"stop_in_constructor", "load"},
	{"spin_deaf_to_signals", "load"},
	{"hang_in_available", "probe kernel mm"},
};

START_TEST(t18_who_hangs_is_killed_at_the_deadline)
{
	workers_submit_probe(&workers, hanging[_i].fixture, -1, 200, &outcome);
	workers_wait(&workers, &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_TIMED_OUT);
	ck_assert_str_eq(outcome.result.diag.code, "probe_timeout");
	if (hanging[_i].stage)
		ck_assert_str_eq(outcome.result.stage, hanging[_i].stage);
	ck_assert_ptr_nonnull(strstr(message(), "200 ms"));
}
END_TEST

START_TEST(t18_others_finish_while_one_hangs)
{
	struct outcome others[3];
	struct pool_job *job = workers_submit_probe(
		&workers, hanging[_i].fixture, -1, 3600000, &outcome);
	for (size_t i = 0; i < 3; i++) {
		outcome_init(&others[i]);
		workers_probe(&workers, "plain", &others[i]);
		ck_assert_int_eq(others[i].result.end, KP_WORKER_DONE);
		outcome_finish(&others[i]);
	}
	ck_assert_uint_eq(outcome.ends, 0);
	pool_cancel(job);
	workers_wait(&workers, &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_CANCELLED);
}
END_TEST

static const struct {
	const char *fixture, *code, *text;
	int status;
} leaving[] = {
	{"exit_0_in_constructor", "exited_during_load", "exited_during_load(0)", 0},
	{"quick_exit_0_in_constructor", "exited_during_load", "exited_during_load(0)", 0},
	{"exit_0_by_the_call", "exited_during_load", "exited_during_load(0)", 0},
	{"exit_0_in_a_thread", "exited_during_load", "exited_during_load(0)", 0},
	{"exit_0_of_the_last_thread", "exited_during_load", "exited_during_load(0)", 0},
	{"exit_7_in_constructor", "exited_during_load", "exited_during_load(7)", 7},
	{"exit_0_in_second_kernel", "exited_during_probe", "exited_during_probe(0)", 0},
};

START_TEST(t19_who_leaves_before_the_end_mark_has_failed)
{
	workers_probe(&workers, leaving[_i].fixture, &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_EXITED);
	ck_assert_str_eq(outcome.result.diag.code, leaving[_i].code);
	ck_assert_int_eq(outcome.result.exit, leaving[_i].status);
	ck_assert_ptr_nonnull(strstr(message(), leaving[_i].text));
}
END_TEST

static const struct {
	const char *fixture;
	int end;
} lingering[] = {
	{"grandchild_keeps_pipes", KP_WORKER_LINGERED},
	{"grandchild_daemonizes", KP_WORKER_LINGERED},
	{"grandchild_ignores_signals", KP_WORKER_LINGERED},
	{"grandchild_chain", KP_WORKER_LINGERED},
	{"grandchild_of_dead_worker", KP_WORKER_KILLED},
};

/* Every process of the job holds the write end: end of file means that all are gone. */
START_TEST(t20_no_process_is_left_and_none_delays_the_end)
{
	int ends[2];
	char byte;
	/* Where it is confined it does not come to that: tests/check_sandbox.c. */
	unconfined_become(true, true);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	workers_submit_probe(&workers, lingering[_i].fixture, ends[1], 60000, &outcome);
	close(ends[1]);
	workers_wait(&workers, &outcome);
	ck_assert_int_eq(outcome.result.end, lingering[_i].end);
	workers_settle(&workers);
	ck_assert_int_eq(read(ends[0], &byte, 1), 0);
	close(ends[0]);
}
END_TEST

START_TEST(t20_a_daemon_left_behind_is_its_own_plugins_fault)
{
	struct outcome other;
	unconfined_become(true, true);
	outcome_init(&other);
	workers_submit_probe(&workers, "grandchild_daemonizes", -1, 60000, &outcome);
	workers_submit_probe(&workers, "noisy", -1, 60000, &other);
	workers_wait(&workers, &other);
	if (outcome.ends == 0)
		workers_wait(&workers, &outcome);
	ck_assert_int_eq(other.result.end, KP_WORKER_DONE);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_LINGERED);
	outcome_finish(&other);
}
END_TEST

static const struct {
	const char *fixture;
	int signal;
} crashing[] = {
	{"crash_in_constructor", SIGSEGV},
	{"abort_in_constructor", SIGABRT},
	{"kills_itself_by_the_call", SIGABRT},
	{"trap_in_constructor", SIGILL},
};

START_TEST(nx02_a_crash_is_told_with_its_signal)
{
	workers_probe(&workers, crashing[_i].fixture, &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_KILLED);
	ck_assert_int_eq(outcome.result.signal, crashing[_i].signal);
	ck_assert_str_eq(outcome.result.diag.code, "killed_by_signal");
	ck_assert_ptr_nonnull(strstr(message(), "during load"));
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

int main(void)
{
	Suite *suite = suite_create("probe_ends");
	TCase *tcase = tcase_create("ends");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(
		tcase, t18_who_hangs_is_killed_at_the_deadline, 0, COUNT(hanging));
	tcase_add_loop_test(tcase, t18_others_finish_while_one_hangs, 0, COUNT(hanging));
	tcase_add_loop_test(
		tcase, t19_who_leaves_before_the_end_mark_has_failed, 0, COUNT(leaving));
	tcase_add_loop_test(tcase, t20_no_process_is_left_and_none_delays_the_end, 0,
		COUNT(lingering));
	tcase_add_test(tcase, t20_a_daemon_left_behind_is_its_own_plugins_fault);
	tcase_add_loop_test(
		tcase, nx02_a_crash_is_told_with_its_signal, 0, COUNT(crashing));
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
