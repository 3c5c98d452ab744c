/* SPDX-License-Identifier: MIT */
/* Bytes of a worker into lines: what is not its own, or too much, is refused early. */
#include "lib/plugin/report.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct kp_report report;
static unsigned lines;
static char *big;

static void make(void)
{
	report = (struct kp_report){.terms = {.mark = "m"}};
	lines = 0;
	big = NULL;
}

static void unmake(void)
{
	kp_report_finish(&report);
	free(big);
}

static const char *take(void *context, json_t *line)
{
	(void)context;
	lines++;
	return json_object_get(line, "refuse") ? "it is refused" : NULL;
}

static int give(const char *text)
{
	return kp_report_take(&report, text, strlen(text), take, NULL);
}

static void expect_garbled(const char *text, const char *why)
{
	ck_assert_int_eq(give(text), -1);
	ck_assert_msg(strstr(report.why, why) != NULL, "%s", report.why);
}

/* `head`, `piece` until there are `size` bytes, `tail`; valid to the next call. */
static const char *repeat(
	const char *head, const char *piece, size_t size, const char *tail)
{
	size_t n = strlen(piece), used = strlen(head);
	free(big);
	big = malloc(used + size + n + strlen(tail) + 1);
	ck_assert_ptr_nonnull(big);
	memcpy(big, head, used);
	for (size_t end = used + size; used < end; used += n)
		memcpy(big + used, piece, n);
	memcpy(big + used, tail, strlen(tail) + 1);
	return big;
}

START_TEST(lines_with_the_mark_are_taken)
{
	ck_assert_int_eq(give("m {\"a\":1}\nm {\"b\":2}\nm {"), 0);
	ck_assert_int_eq(give("}\n"), 0);
	ck_assert_uint_eq(lines, 3);
}
END_TEST

static const char *const strange[] = {"{\"end\":true}\n", "\n", "m{\"end\":true}\n",
	"n {\"end\":true}\n", " {\"end\":true}\n", "m\n", "mm {\"end\":true}\n"};

START_TEST(line_without_the_mark_is_not_the_workers)
{
	expect_garbled(strange[_i], "not the worker's own");
	ck_assert_uint_eq(lines, 0);
}
END_TEST

START_TEST(marks_differ_and_are_whole)
{
	struct kp_report_terms a, b;
	ck_assert_int_eq(kp_report_mark(&a), 0);
	ck_assert_int_eq(kp_report_mark(&b), 0);
	ck_assert_uint_eq(strspn(a.mark, "0123456789abcdef"), KP_REPORT_MARK - 1);
	ck_assert_str_ne(a.mark, b.mark);
}
END_TEST

START_TEST(refused_line_ends_it)
{
	expect_garbled("m {\"refuse\":1}\nm {\"a\":1}\n", "it is refused");
	ck_assert_uint_eq(lines, 1);
}
END_TEST

START_TEST(line_of_a_probe_has_16_kib)
{
	ck_assert_int_eq(give(repeat("m {\"a\":\"", "x", 16000, "\"}\n")), 0);
	expect_garbled(repeat("m {\"a\":\"", "x", 17000, "\"}\n"), "longer than 16 KiB");
}
END_TEST

/* Lines of 2 KiB each. */
START_TEST(report_of_a_probe_has_64_kib_and_2_for_each_kernel)
{
	const char *line = repeat("m {\"a\":\"", "x", 2048 - 11, "\"}\n");
	report.terms.kernels = 3;
	for (size_t i = 0; i < 32 + 3; i++)
		ck_assert_int_eq(give(line), 0);
	expect_garbled(line, "longer than 70 KiB");
}
END_TEST

START_TEST(only_an_identify_tells_much)
{
	report.terms.identifies = true;
	ck_assert_int_eq(give(repeat("m {\"elf\":\"", "x", 200000, "\"}\n")), 0);
	ck_assert_int_eq(give(repeat("m {\"note\":\"", "x", 5000000, "\"}\n")), 0);
	expect_garbled(
		repeat("m {\"elf\":\"", "x", 270000, "\"}\n"), "longer than 256 KiB");
}
END_TEST

START_TEST(note_has_5_mib)
{
	report.terms = (struct kp_report_terms){.identifies = true};
	expect_garbled(
		repeat("{\"note\":\"", "x", 5 << 20, "\"}\n"), "longer than 5120 KiB");
}
END_TEST

static const char *const pieces[] = {"{},", "[],", "[[],{}],", "1,"};

START_TEST(line_of_many_values_is_not_parsed)
{
	report.terms.identifies = true;
	expect_garbled(repeat("m {\"note\":[", pieces[_i], 5000000, "1]}\n"),
		"more than 524288 values");
}
END_TEST

START_TEST(values_in_texts_do_not_count)
{
	const char text[] = "{\"a\":\",,[[{{\\\",,\",\"b\":[1,2]}";
	/* The object, its second key, the array, its second value, and one more. */
	ck_assert_uint_eq(kp_report_values(text, strlen(text)), 5);
	ck_assert_uint_eq(kp_report_values("\"\\", 2), 1);
	ck_assert_uint_eq(kp_report_values("", 0), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("report");
	TCase *t = tcase_create("report");
	tcase_add_checked_fixture(t, make, unmake);
	tcase_add_test(t, lines_with_the_mark_are_taken);
	tcase_add_loop_test(t, line_without_the_mark_is_not_the_workers, 0,
		(int)(sizeof(strange) / sizeof(strange[0])));
	tcase_add_test(t, marks_differ_and_are_whole);
	tcase_add_test(t, refused_line_ends_it);
	tcase_add_test(t, line_of_a_probe_has_16_kib);
	tcase_add_test(t, report_of_a_probe_has_64_kib_and_2_for_each_kernel);
	tcase_add_test(t, only_an_identify_tells_much);
	tcase_add_test(t, note_has_5_mib);
	tcase_add_loop_test(t, line_of_many_values_is_not_parsed, 0,
		(int)(sizeof(pieces) / sizeof(pieces[0])));
	tcase_add_test(t, values_in_texts_do_not_count);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
