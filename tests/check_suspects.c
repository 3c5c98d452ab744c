/* SPDX-License-Identifier: MIT */
/* Marks of probes on the disk, what a start makes of them, and whose turn it is when. */
#include "daemon/pipeline/suspects.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/store/boot.h"
#include "lib/base/file.h"
#include "tests/support/suite.h"

enum { KEYS = 4 };

static char boot[BOOT_TEXT];
static char keys[KEYS][DIGEST_TEXT];
static char place[256];
static uv_loop_t loop;
static struct suspects *suspects;
static struct permit permits[KEYS];
static size_t granted, warnings;
static bool quiet, is_closed;
static char warned[64];

/* ---- a place of its own ------------------------------------------------------------ */

static bool is_quiet(void *context)
{
	(void)context;
	return quiet;
}

static void warn(void *context, const struct kp_diag *diag)
{
	(void)context;
	warnings++;
	snprintf(warned, sizeof(warned), "%s", diag->code);
}

static void set_up(void)
{
	for (int i = 0; i < KEYS; i++)
		for (int c = 0; c < DIGEST_TEXT - 1; c++)
			keys[i][c] = (char)('0' + i);
	const char *tmp = getenv("TMPDIR");
	(void)snprintf(
		place, sizeof(place), "%s/kplug-suspects-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(place));
	ck_assert_int_eq(boot_read(boot, sizeof(boot)), 0);
	ck_assert_int_eq(uv_loop_init(&loop), 0);
}

static void tear_down(void)
{
	char command[300];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", place);
	ck_assert_int_eq(system(command), 0);
}

static void begin(void)
{
	const struct suspects_options options = {place, is_quiet, warn, NULL};

	memset(permits, 0, sizeof(permits));
	suspects = suspects_new(&loop, &options);
	ck_assert_ptr_nonnull(suspects);
}

static void closed(void *context)
{
	(void)context;
	is_closed = true;
}

static void end(void)
{
	is_closed = false;
	suspects_close(suspects, closed, NULL);
	while (!is_closed && uv_run(&loop, UV_RUN_ONCE))
		;
	ck_assert(is_closed);
}

/* As a daemon that is killed: nothing is written any more, and the marks stay. */
static void die(void)
{
	char name[300], aside[300], command[700];

	snprintf(name, sizeof(name), "%s/probes.json", place);
	snprintf(aside, sizeof(aside), "%s/kept", place);
	snprintf(command, sizeof(command), "cp %s %s", name, aside);
	ck_assert_int_eq(system(command), 0);
	for (int i = 0; i < KEYS; i++)
		suspects_return(suspects, &permits[i], false);
	suspects_end(suspects);
	end();
	ck_assert_int_eq(rename(aside, name), 0);
}

static void grant(struct permit *permit)
{
	(void)permit;
	granted++;
}

static bool ask(int i)
{
	const struct suspects_subject subject = {keys[i], "p", keys[i], false};
	const struct mark *why = NULL;
	char name[8];

	snprintf(name, sizeof(name), "p%d", i);
	struct suspects_subject named = subject;
	named.plugin = name;
	permits[i].granted = grant;
	bool may = suspects_ask(suspects, &named, &permits[i], &why);
	suspects_look(suspects);
	return may;
}

static void run(void)
{
	while (uv_run(&loop, UV_RUN_ONCE))
		;
}

/* What the file says: a list of its own. */
static void read_file(struct marks *marks, const char *of_boot)
{
	char *text, path[300];
	size_t size;
	struct kp_diag diag;

	snprintf(path, sizeof(path), "%s/probes.json", place);
	ck_assert_int_eq(kp_file_read(AT_FDCWD, path, 1 << 20, &text, &size, &diag), 0);
	TAILQ_INIT(marks);
	ck_assert_msg(
		marks_read(marks, text, size, of_boot, &diag) == 0, "%s", diag.message);
	free(text);
}

static const struct mark *found(struct marks *marks, int i)
{
	return marks_find(marks, keys[i]);
}

/* ---- turns --------------------------------------------------------------------------
 */

START_TEST(t21_nobody_is_probed_before_the_mark_is_on_the_disk)
{
	struct marks marks;
	begin();
	ck_assert(ask(0));
	ck_assert(ask(1));
	ck_assert_uint_eq(granted, 0);
	run();
	ck_assert_uint_eq(granted, 2);
	read_file(&marks, boot);
	ck_assert_int_eq(found(&marks, 0)->state, MARK_SUSPECT);
	ck_assert_uint_eq(found(&marks, 1)->strikes, 0);
	marks_finish(&marks);
	die();
}
END_TEST

START_TEST(t21_suspects_wait_until_nothing_else_is_left_and_go_one_by_one)
{
	begin();
	ck_assert(ask(0) && ask(1));
	run();
	die();
	granted = 0;
	begin();
	ck_assert(ask(0) && ask(1) && ask(2));
	run();
	ck_assert_uint_eq(granted, 1);
	ck_assert_int_eq(permits[2].state, PERMIT_HELD);
	ck_assert_uint_eq(suspects_last(suspects), 2);
	suspects_return(suspects, &permits[2], true);
	run();
	ck_assert_uint_eq(granted, 1);
	quiet = true;
	suspects_look(suspects);
	run();
	ck_assert_uint_eq(granted, 2);
	ck_assert(permits[0].alone);
	/* Who comes now waits, too. */
	ck_assert(ask(3));
	run();
	ck_assert_uint_eq(granted, 2);
	suspects_return(suspects, &permits[0], true);
	run();
	ck_assert_int_eq(permits[3].state, PERMIT_HELD);
	ck_assert_int_eq(permits[1].state, PERMIT_LAST);
	suspects_return(suspects, &permits[3], true);
	run();
	ck_assert(permits[1].alone);
	suspects_return(suspects, &permits[1], true);
	end();
}
END_TEST

START_TEST(t21_the_third_death_alone_quarantines)
{
	const struct mark *why = NULL;
	const struct suspects_subject subject = {keys[0], "p0", keys[0], false};
	char text[MARK_TEXT];
	quiet = true;
	for (int deaths = 0; deaths < 1 + MARK_STRIKES; deaths++) {
		begin();
		ck_assert(ask(0));
		run();
		ck_assert_int_eq(permits[0].state, PERMIT_HELD);
		ck_assert_int_eq(permits[0].alone, deaths > 0);
		suspects_note(suspects, &permits[0], "load", "said\n");
		run();
		die();
	}
	begin();
	ck_assert(!suspects_ask(suspects, &subject, &permits[0], &why));
	ck_assert_int_eq(why->state, MARK_QUARANTINED);
	ck_assert_str_eq(why->stage, "load");
	ck_assert_str_eq(why->output, "said\n");
	ck_assert_ptr_nonnull(strstr(mark_text(why, text), "pluginctl retry p0"));
	ck_assert_ptr_nonnull(strstr(text, "3 times"));
	json_t *evidence = mark_evidence(why);
	ck_assert_str_eq(json_string_value(json_object_get(evidence, "sha256")), keys[0]);
	json_decref(evidence);
	/* Another key of the same plugin is innocent, and forgets this one. */
	const struct suspects_subject other = {keys[1], "p0", keys[1], false};
	ck_assert(suspects_ask(suspects, &other, &permits[1], &why));
	ck_assert_int_eq(permits[1].state, PERMIT_ASKED);
	suspects_return(suspects, &permits[1], false);
	ck_assert(suspects_ask(suspects, &subject, &permits[0], &why));
	ck_assert_int_eq(permits[0].state, PERMIT_ASKED);
	suspects_return(suspects, &permits[0], false);
	end();
}
END_TEST

START_TEST(t21_who_is_cancelled_alone_stays_suspect_without_a_strike)
{
	struct marks marks;
	begin();
	ck_assert(ask(0));
	run();
	die();
	quiet = true;
	begin();
	ck_assert(ask(0));
	run();
	ck_assert(permits[0].alone);
	suspects_end(suspects);
	suspects_return(suspects, &permits[0], false);
	end();
	read_file(&marks, boot);
	ck_assert_int_eq(found(&marks, 0)->state, MARK_SUSPECT);
	ck_assert_uint_eq(found(&marks, 0)->strikes, 0);
	marks_finish(&marks);
}
END_TEST

START_TEST(t21_another_boot_says_that_the_machine_went_down)
{
	char text[MARK_TEXT];
	struct marks marks;
	begin();
	ck_assert(ask(0));
	run();
	die();
	read_file(&marks, boot);
	ck_assert(!found(&marks, 0)->machine);
	ck_assert_ptr_nonnull(strstr(mark_text(found(&marks, 0), text), "plugind died"));
	marks_finish(&marks);
	read_file(&marks, "another-boot");
	ck_assert(found(&marks, 0)->machine);
	ck_assert_ptr_nonnull(
		strstr(mark_text(found(&marks, 0), text), "the machine went down"));
	marks_finish(&marks);
}
END_TEST

START_TEST(who_cannot_be_marked_is_probed_with_a_warning)
{
	begin();
	ck_assert_int_eq(rmdir(place), 0);
	ck_assert(ask(0));
	run();
	ck_assert_uint_eq(granted, 1);
	ck_assert_uint_ge(warnings, 1);
	ck_assert_str_eq(warned, "write_failed");
	suspects_return(suspects, &permits[0], true);
	end();
}
END_TEST

/* ---- texts ---------------------------------------------------------------------------
 */

static const char *const wrong[] = {
	"",
	"[]",
	"{}",
	"{\"format\": \"kplug-probes/1\"}",
	"{\"format\": \"kplug-probes/2\", \"boot\": \"\", \"probes\": [], \"sum\": \"\"}",
	"{\"format\": \"kplug-probes/1\", \"boot\": \"\", \"probes\": [], \"sum\": "
	"\"0\"}",
	"{\"format\": \"kplug-probes/1\", \"boot\": 3, \"probes\": [], \"sum\": \"0\"}",
};

START_TEST(a_text_that_no_plugind_writes_is_refused_as_a_whole)
{
	struct marks marks;
	struct kp_diag diag = {.code = ""};
	TAILQ_INIT(&marks);
	ck_assert_int_eq(
		marks_read(&marks, wrong[_i], strlen(wrong[_i]), boot, &diag), -1);
	ck_assert_str_ne(diag.code, "");
	ck_assert(TAILQ_EMPTY(&marks));
}
END_TEST

START_TEST(a_text_that_is_cut_or_has_another_byte_is_refused)
{
	struct marks marks, read;
	struct kp_diag diag;
	TAILQ_INIT(&marks);
	struct mark *mark = marks_add(&marks, keys[0], "p");
	snprintf(mark->digest, sizeof(mark->digest), "%s", keys[1]);
	ck_assert(mark_note(mark, "load", "words"));
	ck_assert(!mark_note(mark, "load", "words"));
	char *text = marks_print(&marks, boot, false);
	size_t size = strlen(text);
	TAILQ_INIT(&read);
	for (size_t n = 0; n < size; n++)
		ck_assert_int_eq(marks_read(&read, text, n, boot, &diag), -1);
	char *digit = strstr(text, "\"strikes\": 0") + strlen("\"strikes\": ");
	*digit = '2';
	ck_assert_int_eq(marks_read(&read, text, size, boot, &diag), -1);
	*digit = '0';
	ck_assert_int_eq(marks_read(&read, text, size, boot, &diag), 0);
	ck_assert_str_eq(TAILQ_FIRST(&read)->output, "words");
	marks_finish(&read);
	marks_finish(&marks);
	free(text);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("suspects");
	TCase *tc = tcase_create("suspects");
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, t21_nobody_is_probed_before_the_mark_is_on_the_disk);
	tcase_add_test(
		tc, t21_suspects_wait_until_nothing_else_is_left_and_go_one_by_one);
	tcase_add_test(tc, t21_the_third_death_alone_quarantines);
	tcase_add_test(tc, t21_who_is_cancelled_alone_stays_suspect_without_a_strike);
	tcase_add_test(tc, t21_another_boot_says_that_the_machine_went_down);
	tcase_add_test(tc, who_cannot_be_marked_is_probed_with_a_warning);
	tcase_add_loop_test(tc, a_text_that_no_plugind_writes_is_refused_as_a_whole, 0,
		sizeof(wrong) / sizeof(wrong[0]));
	tcase_add_test(tc, a_text_that_is_cut_or_has_another_byte_is_refused);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return suite_run(suite());
}
