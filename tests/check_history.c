/* SPDX-License-Identifier: MIT */
/* Generations of plugins in memory, and as the text of a file that may be damaged. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/history/chronicle.h"
#include "daemon/history/history_file.h"
#include "daemon/incident/incidents.h"
#include "daemon/incident/incidents_file.h"
#include "daemon/incident/strikes.h"
#include "tests/support/damage.h"
#include "tests/support/suite.h"

static struct chronicles list;
static struct kp_diags wrong;
static struct kp_diag diag;

static void begin(void)
{
	list = (struct chronicles){0};
	wrong = (struct kp_diags){0};
}

static void end(void)
{
	chronicles_finish(&list);
	kp_diags_finish(&wrong);
}

/* A plugin is seen with library number `library`; true where something is different. */
static bool see(const char *plugin, int library, int64_t now, bool rolled_back)
{
	struct chronicle *chronicle = chronicles_open(&list, plugin);
	struct sight sight = {.now = now,
		.is_active = true,
		.is_rolled_back = rolled_back,
		.edition = {.verdict = KP_STATE_ACTIVE,
			.bytes = 100 + library,
			.entry = (char[]){"x.so"},
			.version = (char[]){"1.0.0"},
			.message = (char[]){""}}};
	bool changed = false;

	(void)snprintf(sight.edition.closure, 65, "%064x", (unsigned)library);
	(void)snprintf(sight.edition.digest, 65, "%064x", (unsigned)library + 4096);
	ck_assert_ptr_nonnull(chronicle);
	ck_assert_int_eq(chronicle_see(chronicle, &sight, &changed), 0);
	return changed;
}

/* "3* 2 1": numbers, the newest first, and which one runs. */
static const char *print(const char *plugin)
{
	static char text[200];
	const struct chronicle *chronicle = chronicles_find(&list, plugin);
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = chronicle ? chronicle->count : 0; i-- > 0;) {
		const struct edition *edition = &chronicle->editions[i];
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lld%s",
			used ? " " : "", (long long)edition->number,
			edition->until ? "" : "*");
	}
	return text;
}

START_TEST(each_new_library_is_the_newest_generation)
{
	ck_assert(see("a", 1, 10, false));
	ck_assert(!see("a", 1, 11, false));
	ck_assert(see("a", 2, 12, false));
	ck_assert(see("a", 3, 13, false));
	ck_assert_str_eq(print("a"), "3* 2 1");
	const struct edition *middle =
		chronicle_by_number(chronicles_find(&list, "a"), 2);
	ck_assert_int_eq(middle->at, 12);
	ck_assert_int_eq(middle->until, 13);
}
END_TEST

START_TEST(one_that_comes_back_by_itself_is_the_newest_once)
{
	for (int library = 1; library <= 3; library++)
		see("a", library, library, false);
	ck_assert(see("a", 1, 4, false));
	ck_assert_str_eq(print("a"), "4* 3 2");
	ck_assert(see("a", 3, 5, false));
	ck_assert_str_eq(print("a"), "5* 4 2");
}
END_TEST

START_TEST(one_that_was_rolled_back_to_keeps_its_number)
{
	for (int library = 1; library <= 3; library++)
		see("a", library, library, false);
	ck_assert(see("a", 1, 4, true));
	ck_assert_str_eq(print("a"), "3 2 1*");
	ck_assert(!see("a", 1, 5, true));
	ck_assert(see("a", 3, 6, false));
	ck_assert_str_eq(print("a"), "3* 2 1");
}
END_TEST

START_TEST(the_oldest_give_way_but_for_those_that_are_needed)
{
	for (int library = 1; library <= 5; library++)
		see("a", library, library, false);
	ck_assert(chronicle_cut(chronicles_find(&list, "a"), 4, 1));
	ck_assert_str_eq(print("a"), "5* 4 3 1");
	ck_assert(see("a", 1, 6, true));
	ck_assert(chronicle_cut(chronicles_find(&list, "a"), 1, 1));
	ck_assert_str_eq(print("a"), "1*");
	ck_assert(!chronicle_cut(chronicles_find(&list, "a"), 1, 0));
	/* No number is given twice. */
	see("a", 9, 7, false);
	ck_assert_str_eq(print("a"), "6* 1");
}
END_TEST

START_TEST(a_verdict_is_that_of_the_last_time)
{
	bool changed = false;
	struct sight sight = {.now = 20,
		.edition = {.verdict = KP_STATE_FAILED,
			.code = "probe_timeout",
			.entry = (char[]){"x.so"},
			.version = (char[]){""},
			.message = (char[]){"it hung"}}};

	see("a", 1, 10, false);
	(void)snprintf(sight.edition.closure, 65, "%064x", 1u);
	ck_assert_int_eq(chronicle_see(chronicles_find(&list, "a"), &sight, &changed), 0);
	ck_assert(changed);
	const struct edition *only = &chronicles_find(&list, "a")->editions[0];
	ck_assert_int_eq(only->verdict, KP_STATE_FAILED);
	ck_assert_str_eq(only->message, "it hung");
	/* One that never ran is no generation. */
	(void)snprintf(sight.edition.closure, 65, "%064x", 2u);
	ck_assert_int_eq(chronicle_see(chronicles_find(&list, "a"), &sight, &changed), 0);
	ck_assert_str_eq(print("a"), "1*");
}
END_TEST

/* ---- the file -------------------------------------------------------------------- */

static char *text_of(size_t *size)
{
	char *text;

	for (int library = 1; library <= 3; library++)
		see("alpha", library, library, false);
	see("beta", 7, 9, false);
	text = history_print(&list, size);
	ck_assert_ptr_nonnull(text);
	return text;
}

static bool equal(const struct edition *a, const struct edition *b)
{
	return a->number == b->number && a->at == b->at && a->until == b->until &&
	       a->bytes == b->bytes && a->verdict == b->verdict &&
	       strcmp(a->digest, b->digest) == 0 && strcmp(a->closure, b->closure) == 0 &&
	       strcmp(a->code, b->code) == 0 && strcmp(a->entry, b->entry) == 0 &&
	       strcmp(a->version, b->version) == 0 && strcmp(a->message, b->message) == 0;
}

/* Is what was read of a plugin what was written? */
static bool is_whole(const struct chronicles *read, const char *plugin)
{
	const struct chronicle *from = chronicles_find(&list, plugin);
	const struct chronicle *to = chronicles_find(read, plugin);
	bool same = to && from->count == to->count && from->next == to->next;

	for (size_t i = 0; same && i < from->count; i++)
		same = equal(&from->editions[i], &to->editions[i]);
	return same;
}

START_TEST(what_was_written_is_read)
{
	struct chronicles read = {0};
	size_t size;
	char *text = text_of(&size);

	ck_assert_int_eq(
		history_parse(text, size, "history.json", &read, &wrong, &diag), 0);
	ck_assert_uint_eq(wrong.count, 0);
	ck_assert_uint_eq(read.count, 2);
	ck_assert(is_whole(&read, "alpha") && is_whole(&read, "beta"));
	chronicles_finish(&read);
	free(text);
}
END_TEST

START_TEST(in_pieces_it_is_the_same_text)
{
	struct history_text text = {0};
	size_t size, other;
	char *whole = text_of(&size);
	int pieces = 1;

	while (history_text_go_on(&text, &list, 1) > 0)
		pieces++;
	ck_assert_int_eq(pieces, 2);
	char *bytes = history_text_take(&text, &other);
	ck_assert_uint_eq(other, size);
	ck_assert_mem_eq(bytes, whole, size);
	free(bytes);
	free(whole);
}
END_TEST

START_TEST(what_changes_between_pieces_leaves_a_text_that_is_whole)
{
	struct chronicles read = {0};
	struct history_text text = {0};
	size_t size;

	free(text_of(&size));
	see("gamma", 5, 4, false);
	ck_assert_int_eq(history_text_go_on(&text, &list, 1), 1);
	see("aardvark", 1, 1, false);
	chronicles_remove(&list, "alpha");
	chronicles_remove(&list, "beta");
	ck_assert_int_eq(history_text_go_on(&text, &list, 1), 0);
	char *bytes = history_text_take(&text, &size);
	ck_assert_int_eq(
		history_parse(bytes, size, "history.json", &read, &wrong, &diag), 0);
	ck_assert_uint_eq(wrong.count, 0);
	ck_assert_uint_eq(read.count, 2);
	ck_assert(is_whole(&read, "gamma"));
	ck_assert_ptr_null(chronicles_find(&read, "aardvark"));
	chronicles_finish(&read);
	free(bytes);
}
END_TEST

START_TEST(t57_a_history_that_is_damaged_anywhere_is_noticed_and_what_is_right_holds)
{
	size_t whole;
	char *text = text_of(&whole);
	bool held = false;

	for (size_t at = 0; at < whole; at++) {
		struct chronicles read = {0};
		size_t size = whole;
		char *copy = damage_make(&damages[_i], text, &size, at);
		if (!copy)
			continue;
		int result =
			history_parse(copy, size, "history.json", &read, &wrong, &diag);
		ck_assert_msg(result < 0 || wrong.count > 0, "%s at %zu is not noticed",
			damages[_i].what, at);
		/* Nothing is believed that was not written. */
		for (size_t i = 0; result == 0 && i < read.count; i++)
			ck_assert_msg(is_whole(&read, read.items[i].plugin),
				"%s at %zu became %s", damages[_i].what, at,
				read.items[i].plugin);
		held |= result == 0 && read.count == 1;
		chronicles_finish(&read);
		kp_diags_finish(&wrong);
		free(copy);
	}
	ck_assert(held);
	free(text);
}
END_TEST

START_TEST(a_history_of_a_newer_kplug_says_so)
{
	static const char newer[] = "{\"format\":\"kplug-history/2\"}\n";

	ck_assert_int_eq(
		history_parse(newer, strlen(newer), "history.json", &list, &wrong, &diag),
		-1);
	ck_assert_str_eq(diag.code, "newer_format");
}
END_TEST

START_TEST(t57_incidents_that_are_damaged_anywhere_are_noticed)
{
	struct incidents_kept kept = {
		3, json_pack("[{s:i, s:s, s:i, s:i, s:i, s:n, s:n, "
			     "s:n, s:s, s:i, s:i, s:s, s:n, s:s, "
			     "s:n, s:b}]",
			   "id", 2, "kind", "crash", "at", 5, "first", 4, "count", 1,
			   "kernel", "plugin", "sha256", "application", "server", "pid",
			   7, "uid", 0, "signal", "SIGSEGV", "label", "text",
			   "it crashed", "evidence", "operator", 1)};
	struct strikes strikes = {0};

	ck_assert_uint_eq(strikes_add(&strikes, "a/k", "", 0, 5, 60), 1);
	char *text = incidents_print(&kept, &strikes);
	ck_assert_ptr_nonnull(text);
	size_t whole = strlen(text);
	for (size_t at = 0; at < whole; at++) {
		struct incidents_kept read = {1, json_array()};
		struct strikes counted = {0};
		size_t size = whole;
		char *copy = damage_make(&damages[_i], text, &size, at);
		if (!copy)
			continue;
		int result = incidents_parse(
			copy, size, "incidents.json", &read, &counted, &diag);
		/* Blanks between members are nobody's loss. */
		ck_assert_msg(result < 0 || (read.next == kept.next &&
						    json_equal(read.list, kept.list)),
			"%s at %zu is not noticed", damages[_i].what, at);
		json_decref(read.list);
		strikes_finish(&counted);
		free(copy);
	}
	json_decref(kept.list);
	strikes_finish(&strikes);
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("history");
	TCase *tcase = tcase_create("history");

	tcase_add_checked_fixture(tcase, begin, end);
	tcase_add_test(tcase, each_new_library_is_the_newest_generation);
	tcase_add_test(tcase, one_that_comes_back_by_itself_is_the_newest_once);
	tcase_add_test(tcase, one_that_was_rolled_back_to_keeps_its_number);
	tcase_add_test(tcase, the_oldest_give_way_but_for_those_that_are_needed);
	tcase_add_test(tcase, a_verdict_is_that_of_the_last_time);
	tcase_add_test(tcase, what_was_written_is_read);
	tcase_add_test(tcase, in_pieces_it_is_the_same_text);
	tcase_add_test(tcase, what_changes_between_pieces_leaves_a_text_that_is_whole);
	tcase_add_test(tcase, a_history_of_a_newer_kplug_says_so);
	tcase_add_loop_test(tcase,
		t57_a_history_that_is_damaged_anywhere_is_noticed_and_what_is_right_holds,
		0, DAMAGES);
	tcase_add_loop_test(
		tcase, t57_incidents_that_are_damaged_anywhere_are_noticed, 0, DAMAGES);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
