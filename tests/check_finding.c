/* SPDX-License-Identifier: MIT */
/* What lines of workers do to a verdict, and what they cannot do. */
#include "lib/plugin/finding.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct kp_verdict verdict;
static struct kp_finding finding;
static struct kp_worker_result result;

static void make(void)
{
	verdict = (struct kp_verdict){.state = KP_STATE_ACTIVE};
	finding = (struct kp_finding){.verdict = &verdict};
	result = (struct kp_worker_result){.end = KP_WORKER_DONE, .elapsed_ms = 1};
}

static void unmake(void)
{
	kp_finding_finish(&finding);
	kp_verdict_finish(&verdict);
}

static void tell(void (*take)(struct kp_finding *, const json_t *), const char *text)
{
	json_t *line = json_loads(text, 0, NULL);
	ck_assert_msg(line != NULL, "%s", text);
	take(&finding, line);
	json_decref(line);
}

static void identify(const char *text)
{
	tell(kp_finding_identify, text);
}

static void probe(const char *text)
{
	tell(kp_finding_probe, text);
}

/* A plugin of two kernels that was identified. */
static void identified(void)
{
	identify("{\"elf\":{\"machine\":\"x86-64\"}}");
	identify("{\"note\":{\"kernels\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}");
	identify("{\"needs\":[{\"name\":\"libc.so.6\"}]}");
	ck_assert_int_eq(kp_finding_identified(&finding, &result, 1), KP_FINDING_GOOD);
	kp_finding_begin(&finding);
}

/* The worker asks a kernel: its stage, its answer. */
static void loads(void)
{
	probe("{\"stage\":\"load\"}");
}

static void answers(const char *kernel)
{
	char text[200];
	snprintf(text, sizeof(text), "{\"stage\":\"probe kernel %s\"}", kernel);
	probe(text);
	snprintf(text, sizeof(text), "{\"kernel\":\"%s\",\"available\":true}", kernel);
	probe(text);
}

static void expect_probed(const char *code, const char *said)
{
	ck_assert_int_eq(kp_finding_probed(&finding, &result, 1), KP_FINDING_BAD);
	ck_assert_int_eq(verdict.state, KP_STATE_FAILED);
	ck_assert_str_eq(verdict.code, code);
	ck_assert_msg(strstr(verdict.message, said) != NULL, "%s", verdict.message);
	ck_assert_ptr_nonnull(verdict.evidence);
}

START_TEST(answers_for_all_kernels_are_good)
{
	identified();
	loads();
	answers("a");
	probe("{\"stage\":\"probe kernel b\"}");
	probe("{\"kernel\":\"b\",\"available\":false,\"code\":\"unavailable\","
	      "\"message\":\"no\"}");
	ck_assert_int_eq(kp_finding_probed(&finding, &result, 1), KP_FINDING_GOOD);
	ck_assert_uint_eq(verdict.n_kernels, 2);
	ck_assert_str_eq(verdict.kernels[1].code, "unavailable");
}
END_TEST

START_TEST(end_before_the_last_kernel_is_incomplete)
{
	identified();
	loads();
	answers("a");
	expect_probed("incomplete_report", "the kernel b");
}
END_TEST

START_TEST(end_before_any_kernel_is_incomplete)
{
	identified();
	expect_probed("incomplete_report", "the kernel a");
}
END_TEST

START_TEST(kernel_that_no_note_names_is_garbled)
{
	identified();
	loads();
	answers("c");
	answers("a");
	answers("b");
	expect_probed("garbled_report", "probe kernel c");
}
END_TEST

START_TEST(kernel_that_answers_twice_is_garbled)
{
	identified();
	loads();
	answers("a");
	answers("a");
	expect_probed("garbled_report", "probe kernel a");
}
END_TEST

START_TEST(answer_behind_the_last_is_garbled)
{
	identified();
	loads();
	answers("a");
	answers("b");
	probe("{\"kernel\":\"\\u001b[2J\",\"available\":true}");
	expect_probed("garbled_report", "\\x1b[2J");
}
END_TEST

static const char *const unasked[] = {"{\"stage\":\"bench\"}",
	"{\"kernel\":\"a\",\"available\":true}", "{\"stage\":\"probe kernel a\"}",
	"{\"note\":{}}", "{\"bench\":{}}", "{}"};

/* Before it loads. */
START_TEST(what_no_probe_says_is_garbled)
{
	identified();
	probe(unasked[_i]);
	loads();
	answers("a");
	answers("b");
	expect_probed("garbled_report", "when a was due");
}
END_TEST

START_TEST(answer_without_its_stage_is_garbled)
{
	identified();
	loads();
	answers("a");
	probe("{\"kernel\":\"b\",\"available\":true}");
	expect_probed("garbled_report", "kernel b");
}
END_TEST

START_TEST(stage_that_comes_twice_is_garbled)
{
	identified();
	loads();
	answers("a");
	probe("{\"stage\":\"probe kernel b\"}");
	answers("b");
	expect_probed("garbled_report", "probe kernel b");
}
END_TEST

START_TEST(needs_come_one_by_one_and_begin_anew_with_elf)
{
	identified();
	identify("{\"needs\":[{\"name\":\"libm.so.6\"}]}");
	ck_assert_uint_eq(json_array_size(finding.needs), 2);
	identify("{\"elf\":{\"machine\":\"x86-64\"}}");
	identify("{\"needs\":[{\"name\":\"libm.so.6\"}]}");
	ck_assert_uint_eq(json_array_size(finding.needs), 1);
}
END_TEST

START_TEST(probe_cannot_say_what_the_library_is)
{
	json_t *note, *elf, *needs;
	identified();
	note = verdict.note;
	elf = verdict.elf;
	needs = finding.needs;
	probe("{\"note\":{\"kernels\":[]},\"elf\":{},\"needs\":[]}");
	ck_assert_ptr_eq(verdict.note, note);
	ck_assert_ptr_eq(verdict.elf, elf);
	ck_assert_ptr_eq(finding.needs, needs);
}
END_TEST

START_TEST(identify_answers_for_no_kernel)
{
	identify("{\"kernel\":\"a\",\"available\":true}");
	ck_assert_uint_eq(verdict.n_kernels, 0);
}
END_TEST

/* Two of three bytes of a character would be left of it. */
static const char *const no_codes[] = {
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\\u20ac", "\\u20ac", "",
	"two words", "a\\nb", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};

START_TEST(code_that_is_none_is_not_taken)
{
	char text[400];
	snprintf(text, sizeof(text), "{\"failed\":{\"code\":\"%s\",\"message\":\"m\"}}",
		no_codes[_i]);
	identify(text);
	ck_assert_str_eq(verdict.code, "worker_failed");
	json_t *json = kp_verdict_json(&verdict);
	ck_assert_ptr_nonnull(json);
	json_decref(json);
}
END_TEST

START_TEST(code_of_a_kernel_or_a_warning_that_is_none_is_not_taken)
{
	char text[400];
	identified();
	loads();
	probe("{\"stage\":\"probe kernel a\"}");
	snprintf(text, sizeof(text),
		"{\"kernel\":\"a\",\"available\":false,\"code\":\"%s\"}", no_codes[_i]);
	probe(text);
	ck_assert_str_eq(verdict.kernels[0].code, "unavailable");
	snprintf(text, sizeof(text), "{\"warnings\":[{\"code\":\"%s\"}]}", no_codes[_i]);
	probe(text);
	ck_assert_str_eq(verdict.warnings.items[0].code, "warning");
	json_t *json = kp_verdict_json(&verdict);
	ck_assert_ptr_nonnull(json);
	json_decref(json);
}
END_TEST

START_TEST(message_is_bounded_and_safe)
{
	json_t *text, *line;
	char *many = malloc(100001);
	ck_assert_ptr_nonnull(many);
	memset(many, '\a', 100000);
	many[100000] = '\0';
	text = json_string(many);
	line = json_pack("{s:{s:s, s:O}}", "failed", "code", "bad", "message", text);
	kp_finding_identify(&finding, line);
	ck_assert_uint_lt(strlen(verdict.message), 2000);
	ck_assert_ptr_null(strchr(verdict.message, '\a'));
	json_decref(line);
	json_decref(text);
	free(many);
}
END_TEST

START_TEST(first_failure_is_the_cause)
{
	identify("{\"failed\":{\"code\":\"first\",\"message\":\"1\"},\"state\":"
		 "\"failed\"}");
	identify("{\"failed\":{\"code\":\"last\",\"message\":\"2\"},\"state\":"
		 "\"rejected\"}");
	ck_assert_str_eq(verdict.code, "first");
	ck_assert_int_eq(verdict.state, KP_STATE_FAILED);
}
END_TEST

START_TEST(lost_worker_leaves_no_word)
{
	result.end = KP_WORKER_LOST;
	ck_assert_int_eq(kp_finding_identified(&finding, &result, 1), KP_FINDING_LOST);
	ck_assert_ptr_null(verdict.evidence);
	ck_assert_str_eq(verdict.code, "");
}
END_TEST

static Suite *suite(void)
{
	const int codes = sizeof(no_codes) / sizeof(no_codes[0]);
	Suite *s = suite_create("finding");
	TCase *t = tcase_create("finding");
	tcase_add_checked_fixture(t, make, unmake);
	tcase_add_test(t, answers_for_all_kernels_are_good);
	tcase_add_test(t, end_before_the_last_kernel_is_incomplete);
	tcase_add_test(t, end_before_any_kernel_is_incomplete);
	tcase_add_test(t, kernel_that_no_note_names_is_garbled);
	tcase_add_test(t, kernel_that_answers_twice_is_garbled);
	tcase_add_test(t, answer_behind_the_last_is_garbled);
	tcase_add_loop_test(t, what_no_probe_says_is_garbled, 0,
		(int)(sizeof(unasked) / sizeof(unasked[0])));
	tcase_add_test(t, answer_without_its_stage_is_garbled);
	tcase_add_test(t, stage_that_comes_twice_is_garbled);
	tcase_add_test(t, needs_come_one_by_one_and_begin_anew_with_elf);
	tcase_add_test(t, probe_cannot_say_what_the_library_is);
	tcase_add_test(t, identify_answers_for_no_kernel);
	tcase_add_loop_test(t, code_that_is_none_is_not_taken, 0, codes);
	tcase_add_loop_test(
		t, code_of_a_kernel_or_a_warning_that_is_none_is_not_taken, 0, codes);
	tcase_add_test(t, message_is_bounded_and_safe);
	tcase_add_test(t, first_failure_is_the_cause);
	tcase_add_test(t, lost_worker_leaves_no_word);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return suite_run(suite());
}
