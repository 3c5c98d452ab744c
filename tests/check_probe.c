/* SPDX-License-Identifier: MIT */
/* Real workers probe the fixtures: each fault is told, and nothing is left of it. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/suite.h"
#include "tests/support/workers.h"

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

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

/* The last line about a kernel. */
static const json_t *answer_of(const char *kernel)
{
	const json_t *found = NULL;
	for (size_t i = 0; i < json_array_size(outcome.lines); i++) {
		const json_t *line = json_array_get(outcome.lines, i);
		const char *name = json_string_value(json_object_get(line, "kernel"));
		if (name && strcmp(name, kernel) == 0)
			found = line;
	}
	return found;
}

static const char *answer_text(const char *kernel, const char *key)
{
	const char *text = json_string_value(json_object_get(answer_of(kernel), key));
	return text ? text : "";
}

START_TEST(a_sound_plugin_answers_for_its_kernel)
{
	workers_probe(&workers, "plain", &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
	ck_assert(json_is_true(json_object_get(answer_of("mm"), "available")));
	ck_assert_str_eq(outcome_failed(&outcome), "");
}
END_TEST

START_TEST(t30_a_probe_never_calls_start)
{
	workers_probe(&workers, "starts_itself", &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
}
END_TEST

START_TEST(a_destructor_that_hangs_is_never_called)
{
	workers_probe(&workers, "hang_in_destructor", &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
}
END_TEST

static const struct {
	const char *fixture, *symbol;
} undefined[] = {
	{"undefined_function", "kplug_fixture_absent_function"},
	{"undefined_data", "kplug_fixture_absent_variable"},
	{"undefined_host_function", "kp_fixture_host_function"},
};

START_TEST(t31_an_undefined_symbol_is_named_by_the_probe)
{
	workers_probe(&workers, undefined[_i].fixture, &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
	ck_assert_str_eq(outcome_failed(&outcome), "missing_symbol");
	ck_assert_ptr_nonnull(strstr(outcome_message(&outcome), undefined[_i].symbol));
	ck_assert_str_eq(json_string_value(outcome_value(&outcome, "state")), "failed");
	ck_assert_ptr_null(answer_of("mm"));
}
END_TEST

START_TEST(t44_the_loaders_words_are_told_once_and_kept)
{
	workers_probe(&workers, undefined[_i].fixture, &outcome);
	ck_assert_ptr_nonnull(strstr(outcome.result.loader, undefined[_i].symbol));
	ck_assert_ptr_null(strstr(outcome.result.loader, "does not say why"));
}
END_TEST

static const char *const dying[] = {"exit_0_in_second_kernel", "crash_in_second_kernel"};

START_TEST(t42_a_plugin_that_dies_after_one_kernel_is_not_done)
{
	workers_probe(&workers, dying[_i], &outcome);
	ck_assert(json_is_true(json_object_get(answer_of("first"), "available")));
	ck_assert_ptr_null(answer_of("second"));
	ck_assert_int_ne(outcome.result.end, KP_WORKER_DONE);
	ck_assert_str_eq(outcome.result.stage, "probe kernel second");
}
END_TEST

static const struct {
	const char *fixture, *note, *code;
} differing[] = {
	{"entry_missing", "the note has first, second", "the code has first"},
	{"entry_extra", "the note has first;", "the code has first, second"},
	{"entry_misspelt", "the note has mm", "the code has MM"},
};

START_TEST(n04_both_lists_are_shown_when_note_and_code_differ)
{
	workers_probe(&workers, differing[_i].fixture, &outcome);
	ck_assert_str_eq(outcome_failed(&outcome), "entries_differ");
	ck_assert_ptr_nonnull(strstr(outcome_message(&outcome), differing[_i].note));
	ck_assert_ptr_nonnull(strstr(outcome_message(&outcome), differing[_i].code));
	ck_assert_str_eq(json_string_value(outcome_value(&outcome, "state")), "rejected");
}
END_TEST

START_TEST(a01_a_vtable_that_ends_behind_run_is_accepted)
{
	workers_probe(&workers, "vtable_without_options", &outcome);
	ck_assert(json_is_true(json_object_get(answer_of("mm"), "available")));
}
END_TEST

static const struct {
	const char *fixture, *code;
} refused[] = {
	{"plugin_of_size_0", "bad_struct_size"},
	{"plugin_with_unknown_flag", "unknown_flag"},
	{"vtable_without_run", "missing_pointer"},
};

START_TEST(a02_a_struct_that_is_wrong_is_refused_by_its_code)
{
	workers_probe(&workers, refused[_i].fixture, &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
	ck_assert_str_eq(outcome_failed(&outcome), refused[_i].code);
	ck_assert_str_eq(json_string_value(outcome_value(&outcome, "state")), "rejected");
}
END_TEST

START_TEST(a15_error_text_is_cut_and_made_safe)
{
	workers_probe(&workers, "endless_error_text", &outcome);
	ck_assert_str_eq(answer_text("second", "code"), "unavailable");
	ck_assert_uint_lt(strlen(answer_text("second", "message")), 488);
	outcome_finish(&outcome);
	outcome_init(&outcome);
	workers_probe(&workers, "unavailable_second_kernel", &outcome);
	ck_assert_str_eq(
		answer_text("second", "message"), "no tensor cores \\xff\\x1b here");
}
END_TEST

START_TEST(a_kernel_that_cannot_run_on_this_cpu_is_not_called)
{
	workers_probe(&workers, "illegal_on_this_cpu", &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
	ck_assert(json_is_true(json_object_get(answer_of("second"), "available")));
}
END_TEST

START_TEST(a16_a_plugins_own_functions_win_over_ours)
{
	workers_probe(&workers, "own_functions_named_as_ours", &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
	ck_assert(json_is_true(json_object_get(answer_of("mm"), "available")));
}
END_TEST

START_TEST(an_unknown_status_is_a_failure_with_its_number)
{
	workers_probe(&workers, "odd_status_in_second_kernel", &outcome);
	ck_assert_str_eq(answer_text("second", "code"), "available_failed");
	ck_assert_ptr_nonnull(strstr(answer_text("second", "message"), "999"));
}
END_TEST

START_TEST(a_missing_library_is_told_without_asking_the_kernel)
{
	workers_probe(&workers, "needs_absent_library", &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
	ck_assert_str_eq(answer_text("mm", "code"), "missing_library");
	ck_assert_ptr_nonnull(
		strstr(answer_text("mm", "message"), "libkplug-fixture-absent.so.0"));
}
END_TEST

/* The fixture, linked with a library of another name. */
static void write_patched(const char *fixture, const char *path)
{
	char from[PATH_MAX];
	FILE *in = fopen(fixture_path(fixture, from), "re");
	FILE *out = fopen(path, "we");
	ck_assert(in && out);
	char *bytes = malloc(4 << 20);
	ck_assert_ptr_nonnull(bytes);
	size_t size = fread(bytes, 1, 4 << 20, in);
	char *name = memmem(bytes, size, "libc.so.6", 9);
	ck_assert_ptr_nonnull(name);
	memcpy(name, "libq.so.6", 9);
	ck_assert_uint_eq(fwrite(bytes, 1, size, out), size);
	ck_assert_int_eq(fclose(out), 0);
	fclose(in);
	free(bytes);
}

START_TEST(a_library_that_cannot_be_loaded_with_is_named_with_the_places)
{
	const char *base = getenv("TMPDIR");
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/kplug-probe.XXXXXX", base ? base : "/tmp");
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	write_patched("noisy", path);
	workers_submit_probe_of(&workers, path, "noisy", -1, 60000, &outcome);
	workers_wait(&workers, &outcome);
	unlink(path);
	ck_assert_str_eq(outcome_failed(&outcome), "missing_library");
	ck_assert_ptr_nonnull(
		strstr(outcome_message(&outcome), "libq.so.6 is not found"));
	ck_assert_ptr_nonnull(strstr(outcome_message(&outcome), "/etc/ld.so.cache"));
	ck_assert_ptr_nonnull(strstr(outcome.result.loader, "libq.so.6"));
}
END_TEST

START_TEST(noise_is_kept_as_evidence_and_fails_nothing)
{
	workers_probe(&workers, "noisy", &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
	ck_assert_ptr_nonnull(strstr(outcome.result.output, "\\x1b[31m\\xff last words"));
}
END_TEST

static const char *const unmarked[] = {"writes_to_report", "writes_end_to_report"};

START_TEST(lines_without_the_mark_are_no_words_of_the_worker)
{
	workers_probe(&workers, unmarked[_i], &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_GARBLED);
	ck_assert_str_eq(outcome.result.diag.code, "garbled_report");
	ck_assert_ptr_nonnull(strstr(message(), "not the worker's own"));
	ck_assert_ptr_null(answer_of("mm"));
}
END_TEST

START_TEST(who_writes_to_low_descriptors_hits_nothing)
{
	workers_probe(&workers, "writes_to_descriptor_3", &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
	ck_assert(json_is_true(json_object_get(answer_of("mm"), "available")));
}
END_TEST

START_TEST(flood_ends_the_worker_at_its_first_line)
{
	workers_probe(&workers, "floods_report", &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_GARBLED);
	ck_assert_ptr_nonnull(strstr(message(), "longer than 16 KiB"));
}
END_TEST

/* A lower limit of whoever runs the tests stays. */
START_TEST(worker_makes_no_core_no_large_file_and_goes_first)
{
	static const unsigned long long most[] = {
		0, 64 << 20, 256, 64 << 20, 0, 0, 1024, 1 << 20};
	unsigned long long has[COUNT(most)] = {0};
	int score = 0;

	workers_probe(&workers, "tells_its_limits", &outcome);
	ck_assert_int_eq(outcome.result.end, KP_WORKER_DONE);
	ck_assert_int_eq(sscanf(answer_text("mm", "message"),
				 "oom %d core %llu files %llu descriptors %llu stack "
				 "%llu queues %llu realtime %llu signals %llu processor "
				 "%llu",
				 &score, &has[0], &has[1], &has[2], &has[3], &has[4],
				 &has[5], &has[6], &has[7]),
		9);
	ck_assert_int_eq(score, 1000);
	for (int i = 0; i < COUNT(most); i++)
		ck_assert_msg(has[i] <= most[i], "%d: %llu", i, has[i]);
	ck_assert_uint_gt(has[7], 0);
}
END_TEST

static TCase *make_cases(void)
{
	TCase *tcase = tcase_create("probe");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_sound_plugin_answers_for_its_kernel);
	tcase_add_test(tcase, t30_a_probe_never_calls_start);
	tcase_add_test(tcase, a_destructor_that_hangs_is_never_called);
	tcase_add_loop_test(tcase, t31_an_undefined_symbol_is_named_by_the_probe, 0,
		COUNT(undefined));
	tcase_add_loop_test(
		tcase, t44_the_loaders_words_are_told_once_and_kept, 0, COUNT(undefined));
	tcase_add_loop_test(tcase, t42_a_plugin_that_dies_after_one_kernel_is_not_done, 0,
		COUNT(dying));
	tcase_add_loop_test(tcase, n04_both_lists_are_shown_when_note_and_code_differ, 0,
		COUNT(differing));
	tcase_add_test(tcase, a01_a_vtable_that_ends_behind_run_is_accepted);
	tcase_add_loop_test(tcase, a02_a_struct_that_is_wrong_is_refused_by_its_code, 0,
		COUNT(refused));
	tcase_add_test(tcase, a15_error_text_is_cut_and_made_safe);
	tcase_add_test(tcase, a_kernel_that_cannot_run_on_this_cpu_is_not_called);
	tcase_add_test(tcase, a16_a_plugins_own_functions_win_over_ours);
	tcase_add_test(tcase, an_unknown_status_is_a_failure_with_its_number);
	tcase_add_test(tcase, a_missing_library_is_told_without_asking_the_kernel);
	tcase_add_test(
		tcase, a_library_that_cannot_be_loaded_with_is_named_with_the_places);
	tcase_add_test(tcase, noise_is_kept_as_evidence_and_fails_nothing);
	tcase_add_loop_test(tcase, lines_without_the_mark_are_no_words_of_the_worker, 0,
		COUNT(unmarked));
	tcase_add_test(tcase, who_writes_to_low_descriptors_hits_nothing);
	tcase_add_test(tcase, flood_ends_the_worker_at_its_first_line);
	tcase_add_test(tcase, worker_makes_no_core_no_large_file_and_goes_first);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("probe");
	suite_add_tcase(suite, make_cases());
	return suite_run(suite);
}
