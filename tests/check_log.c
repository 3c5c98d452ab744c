/* SPDX-License-Identifier: MIT */
/* A line an event, for people or for the journal, and never a wait for the reader. */
#include "daemon/log.h"
#include "tests/support/suite.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fds[2];
static struct log log_;
static char text[1 << 17];

static void open_pipe(void)
{
	ck_assert_int_eq(unsetenv("JOURNAL_STREAM"), 0);
	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	log_init(&log_, LOG_INFO, fds[1]);
}

static void close_pipe(void)
{
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static const char *read_all(void)
{
	ssize_t n = read(fds[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

START_TEST(a_line_names_the_program_and_ends)
{
	log_line(&log_, LOG_INFO, "%s: %d", "x", 7);
	ck_assert_str_eq(read_all(), "plugind: x: 7\n");
}
END_TEST

START_TEST(what_is_less_urgent_than_asked_is_left_out)
{
	log_line(&log_, LOG_DEBUG, "quiet");
	ck_assert_str_eq(read_all(), "");
	log_line(&log_, LOG_ERROR, "loud");
	ck_assert_str_eq(read_all(), "plugind: loud\n");
}
END_TEST

START_TEST(t77_breaks_in_a_message_do_not_make_two_lines)
{
	log_line(&log_, LOG_WARNING, "a\nb\r\nc");
	ck_assert_str_eq(read_all(), "plugind: a b  c\n");
}
END_TEST

static const struct {
	const char *said, *logged;
} sent[] = {
	{"a\033[2Jb", "plugind: a\\x1b[2Jb\n"},
	{"a\033]0;title\007", "plugind: a\\x1b]0;title\\x07\n"},
	{"a\xc2\x9b"
	 "31mb",
		"plugind: a\\xc2\\x9b31mb\n"},
	{"a\rb\x7f\b", "plugind: a b\\x7f\\x08\n"},
	{"a\xff\xfe", "plugind: a\\xff\\xfe\n"},
	{"gr\xc3\xbc\xc3\x9f"
	 "e",
		"plugind: gr\xc3\xbc\xc3\x9f"
		"e\n"},
};

START_TEST(t77_what_is_logged_does_nothing_to_a_terminal)
{
	log_line(&log_, LOG_WARNING, "%s", sent[_i].said);
	ck_assert_str_eq(read_all(), sent[_i].logged);
}
END_TEST

START_TEST(t77_a_long_message_of_escapes_is_cut_at_a_whole_one)
{
	char message[4000];
	memset(message, 033, sizeof(message));
	message[sizeof(message) - 1] = '\0';
	log_line(&log_, LOG_WARNING, "%s", message);
	size_t length = strlen(read_all());
	ck_assert_uint_le(length, 4096);
	ck_assert_str_eq(text + length - 5, "\\x1b\n");
}
END_TEST

START_TEST(t77_a_long_message_is_cut_and_still_a_line)
{
	char message[10000];
	memset(message, 'x', sizeof(message));
	message[sizeof(message) - 1] = '\0';
	log_line(&log_, LOG_WARNING, "%s", message);
	size_t length = strlen(read_all());
	ck_assert_uint_le(length, 4096);
	ck_assert_uint_gt(length, 4000);
	ck_assert_int_eq(text[length - 1], '\n');
	ck_assert_ptr_eq(strchr(text, '\n'), text + length - 1);
}
END_TEST

START_TEST(t77_a_diagnostic_keeps_its_code)
{
	struct kp_diag diag;
	kp_diag_set(&diag, "bad_name", "x", "x is no name");
	log_diag(&log_, LOG_WARNING, &diag);
	ck_assert_str_eq(read_all(), "plugind: x is no name [bad_name]\n");
}
END_TEST

START_TEST(the_journal_gets_priorities)
{
	struct stat st;
	char stream[64];
	ck_assert_int_eq(fstat(fds[1], &st), 0);
	(void)snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev,
		(uintmax_t)st.st_ino + (_i == 1));
	ck_assert_int_eq(setenv("JOURNAL_STREAM", stream, 1), 0);
	log_init(&log_, LOG_INFO, fds[1]);
	log_line(&log_, LOG_WARNING, "x");
	ck_assert_str_eq(read_all(), _i == 1 ? "plugind: x\n" : "<4>x\n");
}
END_TEST

START_TEST(a_reader_that_has_stopped_is_not_waited_for)
{
	for (int i = 0; i < 2000; i++)
		log_line(&log_, LOG_INFO, "%0200d", i);
	ck_assert_uint_gt(log_.lost, 0);
	(void)read_all();
	log_line(&log_, LOG_INFO, "again");
	ck_assert_ptr_nonnull(
		strstr(read_all(), "lines of log were lost\nplugind: again\n"));
	ck_assert_uint_eq(log_.lost, 0);
}
END_TEST

START_TEST(levels_have_names)
{
	enum log_level level = LOG_INFO;
	ck_assert(log_level_parse("error", &level) && level == LOG_ERROR);
	ck_assert(log_level_parse("debug", &level) && level == LOG_DEBUG);
	ck_assert(!log_level_parse("", &level));
	ck_assert(!log_level_parse("Error", &level));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tcase = tcase_create("log");
	tcase_add_checked_fixture(tcase, open_pipe, close_pipe);
	tcase_add_test(tcase, a_line_names_the_program_and_ends);
	tcase_add_test(tcase, what_is_less_urgent_than_asked_is_left_out);
	tcase_add_test(tcase, t77_breaks_in_a_message_do_not_make_two_lines);
	tcase_add_loop_test(tcase, t77_what_is_logged_does_nothing_to_a_terminal, 0,
		sizeof(sent) / sizeof(sent[0]));
	tcase_add_test(tcase, t77_a_long_message_of_escapes_is_cut_at_a_whole_one);
	tcase_add_test(tcase, t77_a_long_message_is_cut_and_still_a_line);
	tcase_add_test(tcase, t77_a_diagnostic_keeps_its_code);
	tcase_add_loop_test(tcase, the_journal_gets_priorities, 0, 2);
	tcase_add_test(tcase, a_reader_that_has_stopped_is_not_waited_for);
	tcase_add_test(tcase, levels_have_names);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
