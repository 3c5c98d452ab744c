/* SPDX-License-Identifier: MIT */
/* Failures of plugins are kept within bounds, and told as they were. */
#include "daemon/pipeline/failures.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/plugin/verdict.h"
#include "tests/support/suite.h"

static json_t *failures;

static void setup(void)
{
	failures = json_object();
}

static void teardown(void)
{
	json_decref(failures);
}

/* One that says so, at that time. */
static void fail_with(const char *plugin, const char *text, int64_t at)
{
	struct kp_verdict verdict = {.state = KP_STATE_FAILED,
		.code = "killed_by_signal",
		.message = (char *)(uintptr_t)text};

	verdict.evidence = json_pack("{s:s, s:s}", "stage", "load", "output", text);
	failures_note(failures, plugin, &verdict, at);
	json_decref(verdict.evidence);
}

static size_t count_of(const char *plugin)
{
	json_t *list = failures_of(failures, plugin);
	size_t n = json_array_size(list);

	json_decref(list);
	return n;
}

static void ck_message(const char *plugin, size_t i, const char *expected)
{
	json_t *list = failures_of(failures, plugin);
	json_t *failure = json_array_get(list, i);

	ck_assert_str_eq(
		json_string_value(json_object_get(failure, "message")), expected);
	json_decref(list);
}

START_TEST(they_are_told_as_they_were)
{
	fail_with("a", "one \"quoted\"", 7);
	json_t *list = failures_of(failures, "a");
	json_t *failure = json_array_get(list, 0);
	json_t *evidence = json_object_get(failure, "evidence");

	ck_assert_int_eq(json_integer_value(json_object_get(failure, "at")), 7);
	ck_assert_str_eq(json_string_value(json_object_get(failure, "state")), "failed");
	ck_assert_str_eq(
		json_string_value(json_object_get(evidence, "output")), "one \"quoted\"");
	json_decref(list);
	ck_assert_uint_eq(count_of("nobody"), 0);
}
END_TEST

START_TEST(one_that_was_told_is_not_told_again)
{
	fail_with("a", "same", 1);
	fail_with("a", "same", 2);
	ck_assert_uint_eq(count_of("a"), 1);
	fail_with("a", "other", 3);
	fail_with("a", "same", 4);
	ck_assert_uint_eq(count_of("a"), 3);
}
END_TEST

START_TEST(of_a_plugin_the_last_eight_stay)
{
	char text[16];

	for (int i = 0; i < 20; i++) {
		(void)snprintf(text, sizeof(text), "%d", i);
		fail_with("a", text, i);
	}
	ck_assert_uint_eq(count_of("a"), FAILURES_KEPT);
	ck_message("a", 0, "12");
	ck_message("a", FAILURES_KEPT - 1, "19");
}
END_TEST

START_TEST(of_many_plugins_each_has_its_last_one)
{
	enum { PLUGINS = FAILURES_ALL + 100, ROUNDS = 3 };
	char plugin[16], text[16];

	for (int i = 0; i < ROUNDS * PLUGINS; i++) {
		(void)snprintf(plugin, sizeof(plugin), "p%d", i % PLUGINS);
		(void)snprintf(text, sizeof(text), "%d", i);
		fail_with(plugin, text, i);
	}
	for (int i = 0; i < PLUGINS; i++) {
		(void)snprintf(plugin, sizeof(plugin), "p%d", i);
		(void)snprintf(text, sizeof(text), "%d", (ROUNDS - 1) * PLUGINS + i);
		ck_assert_uint_eq(count_of(plugin), 1);
		ck_message(plugin, 0, text);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("failures");
	TCase *all = tcase_create("all");

	tcase_add_checked_fixture(all, setup, teardown);
	tcase_add_test(all, they_are_told_as_they_were);
	tcase_add_test(all, one_that_was_told_is_not_told_again);
	tcase_add_test(all, of_a_plugin_the_last_eight_stay);
	tcase_add_test(all, of_many_plugins_each_has_its_last_one);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
