/* SPDX-License-Identifier: MIT */
/* What ends a plugin before any of its constructors is told as "during relocation". */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/owned.h"
#include "lib/plugin/finding.h"
#include "tests/support/suite.h"
#include "tests/support/workers.h"

static struct workers workers;
static struct outcome outcome;

static void set_up(void)
{
	workers_start(&workers, 2);
	outcome_init(&outcome);
}

static void tear_down(void)
{
	workers_stop(&workers);
	outcome_finish(&outcome);
}

static void expect_words(const char *words)
{
	ck_assert_ptr_nonnull(strstr(outcome.result.diag.message, words));
}

static const char *const later[] = {
	"crash_in_constructor", "abort_in_constructor", "exit_7_in_constructor"};

START_TEST(what_a_constructor_does_is_no_relocation)
{
	workers_probe(&workers, later[_i], &outcome);
	ck_assert_int_ne(outcome.result.end, KP_WORKER_DONE);
	ck_assert_str_eq(outcome.result.stage, "load");
	expect_words("during load");
}
END_TEST

#ifndef __SANITIZE_ADDRESS__ /* which has handlers of its own */

static const struct {
	const char *fixture;
	int signal;
} crashing[] = {
	{"crash_in_ifunc", SIGSEGV},
	{"abort_in_ifunc", SIGABRT},
	{"recursion_in_ifunc", SIGSEGV},
};

START_TEST(t24_a_crash_in_a_resolver_is_one_during_relocation)
{
	workers_probe(&workers, crashing[_i].fixture, &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_KILLED);
	ck_assert_int_eq(outcome.result.signal, crashing[_i].signal);
	ck_assert_str_eq(outcome.result.diag.code, "killed_by_signal");
	ck_assert_str_eq(outcome.result.stage, "relocation");
	expect_words("during relocation");
	ck_assert_ptr_nonnull(strstr(outcome.result.output, KP_BACKTRACE_MARK));
	ck_assert_ptr_nonnull(strstr(outcome.result.output, crashing[_i].fixture));
}
END_TEST

/* Within so many milliseconds; however slow this machine is, in the end it gets there. */
static void probe_within(const char *fixture, unsigned timeout_ms)
{
	outcome_finish(&outcome);
	outcome_init(&outcome);
	workers_submit_probe(&workers, fixture, -1, timeout_ms, &outcome);
	workers_wait(&workers, &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_TIMED_OUT);
	ck_assert_int_eq(outcome.result.signal, SIGKILL);
	ck_assert_str_eq(outcome.result.diag.code, "probe_timeout");
}

START_TEST(t24_a_resolver_that_hangs_is_killed_during_relocation)
{
	for (unsigned ms = 200; ms < PATIENCE_MS; ms *= 2) {
		probe_within("hang_in_ifunc", ms);
		if (strcmp(outcome.result.stage, "relocation") == 0)
			break;
	}
	expect_words("did not finish relocation within ");
	ck_assert_ptr_nonnull(strstr(outcome.result.output, "hang_in_ifunc"));
}
END_TEST

START_TEST(t24_a_resolver_that_exits_does_so_during_relocation)
{
	workers_probe(&workers, "exit_0_in_ifunc", &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_EXITED);
	ck_assert_str_eq(outcome.result.diag.code, "exited_during_load");
	expect_words("exited with status 0 during relocation");
}
END_TEST

static const char *const hanging[] = {"hang_in_constructor", "hang_in_available"};

START_TEST(t22_who_hangs_is_asked_where_before_it_is_killed)
{
	const char *mark = NULL;
	for (unsigned ms = 200; ms < PATIENCE_MS && !mark; ms *= 2) {
		probe_within(hanging[_i], ms);
		mark = strstr(outcome.result.output, KP_BACKTRACE_MARK);
		mark = mark ? strstr(mark, hanging[_i]) : NULL;
	}
	ck_assert_ptr_nonnull(mark);
}
END_TEST

#endif

int main(void)
{
	Suite *suite = suite_create("relocation");
	TCase *tcase = tcase_create("relocation");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(
		tcase, what_a_constructor_does_is_no_relocation, 0, (int)KP_COUNT(later));
#ifndef __SANITIZE_ADDRESS__
	tcase_add_loop_test(tcase, t24_a_crash_in_a_resolver_is_one_during_relocation, 0,
		(int)KP_COUNT(crashing));
	tcase_add_test(tcase, t24_a_resolver_that_hangs_is_killed_during_relocation);
	tcase_add_test(tcase, t24_a_resolver_that_exits_does_so_during_relocation);
	tcase_add_loop_test(tcase, t22_who_hangs_is_asked_where_before_it_is_killed, 0,
		(int)KP_COUNT(hanging));
#endif
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
