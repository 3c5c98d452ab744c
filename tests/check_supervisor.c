/* SPDX-License-Identifier: MIT */
/* A worker is played by pipes, its clock by numbers. */
#include "lib/plugin/supervisor.h"
#include "tests/support/suite.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { START = 1000, LIMIT = 500 };

struct played {
	struct kp_supervisor *supervisor;
	int report, output; /* the worker's ends */
	unsigned lines;
	char last[256];
};

static struct played worker;
static const struct kp_report_terms bare = {.kernels = 1};

static void on_line(void *context, json_t *line)
{
	struct played *played = context;
	char *text = json_dumps(line, JSON_COMPACT);
	ck_assert_ptr_nonnull(text);
	snprintf(played->last, sizeof(played->last), "%s", text);
	played->lines++;
	free(text);
}

static void make_pipe(int *read_end, int *write_end)
{
	int ends[2];
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	*read_end = ends[0];
	*write_end = ends[1];
}

static void set_up(void)
{
	int report;
	int output;
	worker = (struct played){0};
	make_pipe(&report, &worker.report);
	make_pipe(&output, &worker.output);
	worker.supervisor = kp_supervisor_new(
		report, output, &bare, START, START + LIMIT, on_line, &worker);
	ck_assert_ptr_nonnull(worker.supervisor);
}

static void tear_down(void)
{
	kp_supervisor_free(worker.supervisor);
	close(worker.report);
	close(worker.output);
}

static void say(const char *text)
{
	ck_assert_int_eq(write(worker.report, text, strlen(text)), (ssize_t)strlen(text));
	kp_supervisor_read(worker.supervisor);
}

static void print(const char *bytes, size_t size)
{
	while (size > 0) {
		size_t n = size < 4096 ? size : 4096;
		ck_assert_int_eq(write(worker.output, bytes, n), (ssize_t)n);
		kp_supervisor_read(worker.supervisor);
		bytes += n;
		size -= n;
	}
}

static int step_at(int64_t now)
{
	return (int)kp_supervisor_step(worker.supervisor, now);
}

static int exited(int status)
{
	return status << 8;
}

static const struct kp_worker_result *end_with(int status, bool lingered)
{
	kp_supervisor_ended(worker.supervisor, status, lingered);
	ck_assert_int_eq(step_at(START + 20), KP_SUPERVISE_DONE);
	return kp_supervisor_result(worker.supervisor);
}

START_TEST(a_report_with_its_end_and_status_0_is_done)
{
	say("{\"stage\": \"load\"}\n{\"kernel\": \"mm\"}\n{\"end\": true}\n");
	ck_assert_int_eq(step_at(START + 10), KP_SUPERVISE_WAIT);
	const struct kp_worker_result *result = end_with(exited(0), false);
	ck_assert_int_eq(result->end, KP_WORKER_DONE);
	ck_assert_ptr_null(result->diag.code);
	ck_assert_int_eq(result->exit, 0);
	ck_assert_str_eq(result->stage, "load");
	ck_assert_double_eq(result->elapsed_ms, 20);
	ck_assert_uint_eq(worker.lines, 2);
}
END_TEST

START_TEST(lines_are_whole_however_they_arrive)
{
	const char text[] = "{\"stage\": \"load\"}\n{\"kernel\": \"mm\"}\n";
	for (const char *at = text; *at; at++)
		say((char[]){*at, '\0'});
	ck_assert_uint_eq(worker.lines, 2);
	ck_assert_str_eq(worker.last, "{\"kernel\":\"mm\"}");
}
END_TEST

START_TEST(what_was_written_before_the_death_counts)
{
	const char text[] = "{\"kernel\": \"mm\"}\n{\"end\": true}\n";
	ck_assert_int_eq(write(worker.report, text, strlen(text)), (ssize_t)strlen(text));
	ck_assert_int_eq(end_with(exited(0), false)->end, KP_WORKER_DONE);
	ck_assert_uint_eq(worker.lines, 1);
}
END_TEST

START_TEST(t19_status_0_without_the_end_mark_is_a_failure)
{
	say("{\"stage\": \"load\"}\n");
	const struct kp_worker_result *result = end_with(exited(0), false);
	ck_assert_int_eq(result->end, KP_WORKER_EXITED);
	ck_assert_str_eq(result->diag.code, "exited_during_load");
	ck_assert_ptr_nonnull(strstr(result->diag.message, "exited_during_load(0)"));
}
END_TEST

START_TEST(t19_a_status_is_named_with_its_stage)
{
	say("{\"stage\": \"probe kernel mm\"}\n");
	const struct kp_worker_result *result = end_with(exited(7), false);
	ck_assert_str_eq(result->diag.code, "exited_during_probe");
	ck_assert_ptr_nonnull(strstr(result->diag.message, "exited_during_probe(7)"));
	ck_assert_ptr_nonnull(strstr(result->diag.message, "probe kernel mm"));
	ck_assert_int_eq(result->exit, 7);
}
END_TEST

START_TEST(t19_an_end_before_any_report_is_a_failure)
{
	const struct kp_worker_result *result = end_with(exited(0), false);
	ck_assert_int_eq(result->end, KP_WORKER_EXITED);
	ck_assert_str_eq(result->diag.code, "exited_early");
}
END_TEST

START_TEST(t19_a_bad_status_behind_the_end_mark_is_a_failure)
{
	say("{\"stage\": \"load\"}\n{\"end\": true}\n");
	ck_assert_int_eq(end_with(exited(3), false)->end, KP_WORKER_EXITED);
}
END_TEST

START_TEST(t20_end_of_file_is_not_the_end)
{
	close(worker.report);
	close(worker.output);
	worker.report = worker.output = -1;
	kp_supervisor_read(worker.supervisor);
	ck_assert_int_eq(kp_supervisor_report_fd(worker.supervisor), -1);
	ck_assert_int_eq(kp_supervisor_output_fd(worker.supervisor), -1);
	ck_assert_int_eq(step_at(START + 10), KP_SUPERVISE_WAIT);
}
END_TEST

START_TEST(t20_a_pipe_that_stays_open_does_not_delay_the_end)
{
	say("{\"stage\": \"load\"}\n{\"end\": true}\n");
	/* Both write ends are open still, as a grandchild would keep them. */
	ck_assert_int_eq(end_with(exited(0), false)->end, KP_WORKER_DONE);
}
END_TEST

START_TEST(t20_processes_left_behind_are_a_failure)
{
	say("{\"stage\": \"load\"}\n{\"end\": true}\n");
	const struct kp_worker_result *result = end_with(exited(0), true);
	ck_assert_int_eq(result->end, KP_WORKER_LINGERED);
	ck_assert_str_eq(result->diag.code, "lingering_process");
}
END_TEST

START_TEST(a_signal_is_named_with_its_stage)
{
	say("{\"stage\": \"load\"}\n");
	const struct kp_worker_result *result = end_with(SIGSEGV, false);
	ck_assert_int_eq(result->end, KP_WORKER_KILLED);
	ck_assert_int_eq(result->signal, SIGSEGV);
	ck_assert_int_eq(result->exit, -1);
	ck_assert_str_eq(result->diag.code, "killed_by_signal");
	ck_assert_ptr_nonnull(strstr(result->diag.message, "SIGSEGV"));
	ck_assert_ptr_nonnull(strstr(result->diag.message, "during load"));
}
END_TEST

START_TEST(t18_the_deadline_kills_and_is_named)
{
	say("{\"stage\": \"load\"}\n");
	ck_assert_int_eq(step_at(START + LIMIT - 1), KP_SUPERVISE_WAIT);
	ck_assert_int_eq(kp_supervisor_deadline(worker.supervisor), START + LIMIT);
	ck_assert_int_eq(step_at(START + LIMIT), KP_SUPERVISE_KILL);
	ck_assert_int_eq(step_at(START + LIMIT + 1), KP_SUPERVISE_WAIT);
	kp_supervisor_ended(worker.supervisor, SIGKILL, true);
	ck_assert_int_eq(step_at(START + LIMIT + 2), KP_SUPERVISE_DONE);
	const struct kp_worker_result *result = kp_supervisor_result(worker.supervisor);
	ck_assert_int_eq(result->end, KP_WORKER_TIMED_OUT);
	ck_assert_str_eq(result->diag.code, "probe_timeout");
	ck_assert_ptr_nonnull(strstr(result->diag.message, "500 ms"));
}
END_TEST

START_TEST(t18_a_worker_that_cannot_die_ends_all_the_same)
{
	say("{\"stage\": \"load\"}\n");
	ck_assert_int_eq(step_at(START + LIMIT), KP_SUPERVISE_KILL);
	int64_t end = kp_supervisor_deadline(worker.supervisor);
	ck_assert_int_gt(end, START + LIMIT);
	ck_assert_int_eq(step_at(end), KP_SUPERVISE_DONE);
	const struct kp_worker_result *result = kp_supervisor_result(worker.supervisor);
	ck_assert_int_eq(result->end, KP_WORKER_TIMED_OUT);
	ck_assert_int_eq(result->exit, -1);
}
END_TEST

START_TEST(t18_an_end_that_comes_late_does_not_undo_the_timeout)
{
	say("{\"stage\": \"bench mm\"}\n");
	ck_assert_int_eq(step_at(START + LIMIT), KP_SUPERVISE_KILL);
	say("{\"end\": true}\n");
	const struct kp_worker_result *result = end_with(exited(0), false);
	ck_assert_int_eq(result->end, KP_WORKER_TIMED_OUT);
	ck_assert_str_eq(result->diag.code, "bench_timeout");
}
END_TEST

START_TEST(who_will_not_leave_after_its_end_is_killed_without_blame)
{
	say("{\"stage\": \"load\"}\n{\"end\": true}\n");
	ck_assert_int_eq(step_at(START + 10), KP_SUPERVISE_WAIT);
	int64_t end = kp_supervisor_deadline(worker.supervisor);
	ck_assert_int_eq(step_at(end), KP_SUPERVISE_KILL);
	kp_supervisor_ended(worker.supervisor, SIGKILL, false);
	ck_assert_int_eq(step_at(end + 1), KP_SUPERVISE_DONE);
	ck_assert_int_eq(kp_supervisor_result(worker.supervisor)->end, KP_WORKER_DONE);
}
END_TEST

static void must_be_garbled(void)
{
	ck_assert_int_eq(step_at(START + 10), KP_SUPERVISE_KILL);
	const struct kp_worker_result *result = end_with(SIGKILL, false);
	ck_assert_int_eq(result->end, KP_WORKER_GARBLED);
	ck_assert_str_eq(result->diag.code, "garbled_report");
}

static const char *const garbage[] = {"garbage\n", "[1]\n", "{\"a\": 1, \"a\": 2}\n",
	"{\"a\": \"\xff\"}\n", "\n", "{\"end\": true} {\"end\": true}\n",
	"{\"end\": true}\n{\"kernel\": \"mm\"}\n"};

START_TEST(what_is_not_one_object_a_line_is_garbled)
{
	say(garbage[_i]);
	must_be_garbled();
}
END_TEST

/* `size` bytes, as fast as they are taken. */
static void flood(size_t size, const char *piece)
{
	size_t n = strlen(piece);
	size_t done = 0;
	while (done < size && kp_supervisor_report_fd(worker.supervisor) >= 0)
		if (write(worker.report, piece, n) == (ssize_t)n)
			done += n;
		else
			kp_supervisor_read(worker.supervisor);
	kp_supervisor_read(worker.supervisor);
}

START_TEST(a_line_without_end_is_garbled)
{
	char piece[4097];
	memset(piece, ' ', sizeof(piece) - 1);
	piece[sizeof(piece) - 1] = '\0';
	flood(KP_REPORT_LINE + 8192, piece);
	must_be_garbled();
}
END_TEST

START_TEST(a_report_without_end_is_garbled)
{
	char piece[4097];
	memset(piece, ' ', sizeof(piece) - 1);
	memcpy(piece + sizeof(piece) - 4, "{}\n", 4);
	flood(KP_REPORT_MORE + KP_REPORT_KERNEL + 8192, piece);
	must_be_garbled();
}
END_TEST

START_TEST(who_killed_its_parent_is_told_with_its_stage)
{
	say("{\"stage\": \"load\"}\n");
	kp_supervisor_bereaved(worker.supervisor, _i);
	ck_assert_int_eq(step_at(START + 10), KP_SUPERVISE_DONE);
	const struct kp_worker_result *result = kp_supervisor_result(worker.supervisor);
	ck_assert_int_eq(result->end, KP_WORKER_KILLED_PARENT);
	ck_assert_str_eq(
		result->diag.code, _i ? "killed_the_launcher" : "killed_its_keeper");
	ck_assert_ptr_nonnull(strstr(result->diag.message, "during load"));
	ck_assert_int_eq(result->exit, -1);
	ck_assert_int_eq(result->signal, 0);
}
END_TEST

START_TEST(t18_who_is_killed_for_its_time_has_killed_nobody)
{
	ck_assert_int_eq(step_at(START + LIMIT), KP_SUPERVISE_KILL);
	kp_supervisor_bereaved(worker.supervisor, false);
	ck_assert_int_eq(step_at(START + LIMIT + 1), KP_SUPERVISE_DONE);
	ck_assert_int_eq(
		kp_supervisor_result(worker.supervisor)->end, KP_WORKER_TIMED_OUT);
}
END_TEST

START_TEST(the_last_4_kib_of_output_are_kept)
{
	char noise[10000];
	memset(noise, 'x', sizeof(noise));
	memcpy(noise + sizeof(noise) - 4, "last", 4);
	print(noise, sizeof(noise));
	const struct kp_worker_result *result = end_with(SIGABRT, false);
	ck_assert_uint_eq(strlen(result->output), KP_WORKER_OUTPUT);
	ck_assert_str_eq(result->output + KP_WORKER_OUTPUT - 4, "last");
}
END_TEST

START_TEST(output_is_made_safe)
{
	print("\x1b[31m\xff\n\0end", 11);
	ck_assert_str_eq(end_with(SIGABRT, false)->output, "\\x1b[31m\\xff\n\\x00end");
}
END_TEST

START_TEST(output_is_not_cut_inside_a_character)
{
	print("\xe2\x82\xac", 3);
	char noise[KP_WORKER_OUTPUT - 1];
	memset(noise, 'x', sizeof(noise));
	print(noise, sizeof(noise));
	const char *output = end_with(SIGABRT, false)->output;
	ck_assert_uint_eq(strspn(output, "x"), sizeof(noise));
}
END_TEST

START_TEST(t44_the_loaders_words_are_kept)
{
	say("{\"stage\": \"load\"}\n{\"loader\": \"x.so: undefined symbol: f\"}\n");
	ck_assert_str_eq(end_with(exited(1), false)->loader, "x.so: undefined symbol: f");
}
END_TEST

START_TEST(a_lost_worker_is_nobodys_blame)
{
	say("{\"stage\": \"load\"}\n");
	kp_supervisor_lost(worker.supervisor);
	ck_assert_int_eq(step_at(START + 10), KP_SUPERVISE_DONE);
	const struct kp_worker_result *result = kp_supervisor_result(worker.supervisor);
	ck_assert_int_eq(result->end, KP_WORKER_LOST);
	ck_assert_str_eq(result->diag.code, "worker_lost");
}
END_TEST

START_TEST(a_cancelled_worker_is_killed)
{
	kp_supervisor_cancel(worker.supervisor);
	ck_assert_int_eq(step_at(START + 10), KP_SUPERVISE_KILL);
	ck_assert_int_eq(end_with(SIGKILL, false)->end, KP_WORKER_CANCELLED);
}
END_TEST

START_TEST(nothing_changes_after_the_end)
{
	end_with(exited(0), false);
	kp_supervisor_cancel(worker.supervisor);
	kp_supervisor_ended(worker.supervisor, SIGKILL, true);
	kp_supervisor_read(worker.supervisor);
	ck_assert_int_eq(step_at(START + 99999), KP_SUPERVISE_DONE);
	ck_assert_int_eq(kp_supervisor_result(worker.supervisor)->end, KP_WORKER_EXITED);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_report_with_its_end_and_status_0_is_done,
		lines_are_whole_however_they_arrive,
		what_was_written_before_the_death_counts,
		t19_status_0_without_the_end_mark_is_a_failure,
		t19_a_status_is_named_with_its_stage,
		t19_an_end_before_any_report_is_a_failure,
		t19_a_bad_status_behind_the_end_mark_is_a_failure,
		t20_end_of_file_is_not_the_end,
		t20_a_pipe_that_stays_open_does_not_delay_the_end,
		t20_processes_left_behind_are_a_failure,
		a_signal_is_named_with_its_stage,
		t18_the_deadline_kills_and_is_named,
		t18_a_worker_that_cannot_die_ends_all_the_same,
		t18_an_end_that_comes_late_does_not_undo_the_timeout,
		who_will_not_leave_after_its_end_is_killed_without_blame,
		a_line_without_end_is_garbled,
		a_report_without_end_is_garbled,
		t18_who_is_killed_for_its_time_has_killed_nobody,
		the_last_4_kib_of_output_are_kept,
		output_is_made_safe,
		output_is_not_cut_inside_a_character,
		t44_the_loaders_words_are_kept,
		a_lost_worker_is_nobodys_blame,
		a_cancelled_worker_is_killed,
		nothing_changes_after_the_end,
	};
	Suite *suite = suite_create("supervisor");
	TCase *tcase = tcase_create("supervisor");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tcase, tests[i]);
	tcase_add_loop_test(tcase, who_killed_its_parent_is_told_with_its_stage, 0, 2);
	tcase_add_loop_test(tcase, what_is_not_one_object_a_line_is_garbled, 0,
		sizeof(garbage) / sizeof(garbage[0]));
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
