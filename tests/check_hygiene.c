/* SPDX-License-Identifier: MIT */
/* What plugins change of the process that loads them is told, each by its code. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

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

/* How many warnings there are, and the message of the one with this code, or "". */
static size_t find_warning(const char *code, const char **message)
{
	size_t i, count = 0;
	json_t *line, *warning;

	*message = "";
	json_array_foreach (outcome.lines, i, line) {
		size_t k;
		json_array_foreach (json_object_get(line, "warnings"), k, warning) {
			const char *own =
				json_string_value(json_object_get(warning, "code"));
			count++;
			if (strcmp(own, code) == 0)
				*message = json_string_value(
					json_object_get(warning, "message"));
		}
	}
	return count;
}

static const struct {
	const char *fixture, *code, *words;
} rows[] = {
	{"changes_locale", "changes_locale", "loading it changes the locale from C to"},
	{"changes_directory", "changes_directory", "from / to /usr"},
	{"changes_umask", "changes_umask", "from 022 to 077"},
	{"changes_environment", "changes_environment", "loading it changes"},
	{"changes_signal_handler", "changes_signal_handler", "the signal SIGPIPE"},
	{"changes_signal_mask", "changes_signal_mask", "loading it changes"},
	{"changes_limits", "changes_limits", "loading it changes a limit"},
	{"leaves_threads", "leaves_threads", "threads running: 1"},
	{"leaves_descriptors", "leaves_descriptors", "descriptors open: 1"},
	{"closes_descriptors", "closes_descriptors", "not its own: 1"},
	{"leaves_handler_of_atexit", "leaves_exit_handlers",
		"1 by atexit, the last one of leaves_handler_of_atexit.so"},
	{"leaves_handler_of_on_exit", "leaves_exit_handlers", "1 by on_exit"},
	{"leaves_handler_of_at_quick_exit", "leaves_exit_handlers", "1 by at_quick_exit"},
};

START_TEST(t28_each_side_effect_of_loading_is_told_by_its_code)
{
	const char *message;
	workers_probe(&workers, rows[_i].fixture, &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
	ck_assert_uint_eq(find_warning(rows[_i].code, &message), 1);
	ck_assert_ptr_nonnull(strstr(message, rows[_i].words));
}
END_TEST

static const struct {
	const char *fixture, *when;
} floats[] = {
	{"changes_rounding", "loading it changes how the thread rounds"},
	{"changes_rounding_when_asked",
		"asking its kernels changes how the thread rounds"},
#ifdef __x86_64__
	{"changes_fp_by_fast_math", "loading it changes how the thread rounds"},
#endif
};

START_TEST(t27_a_changed_state_of_floating_point_is_told_with_its_time)
{
	const char *message;
	workers_probe(&workers, floats[_i].fixture, &outcome);
	ck_assert_uint_eq(find_warning("changes_fp_state", &message), 1);
	ck_assert_ptr_nonnull(strstr(message, floats[_i].when));
}
END_TEST

START_TEST(nothing_is_told_of_who_changes_nothing)
{
	const char *message;
	workers_probe(&workers, "plain", &outcome);
	ck_assert_uint_eq(find_warning("changes_fp_state", &message), 0);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

int main(void)
{
	Suite *suite = suite_create("hygiene");
	TCase *tcase = tcase_create("hygiene");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, t28_each_side_effect_of_loading_is_told_by_its_code, 0,
		COUNT(rows));
	tcase_add_loop_test(tcase,
		t27_a_changed_state_of_floating_point_is_told_with_its_time, 0,
		COUNT(floats));
	tcase_add_test(tcase, nothing_is_told_of_who_changes_nothing);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
