/* SPDX-License-Identifier: MIT */
/* What becomes a row: words of workers are weighed, ends of workers explained. */
#include "daemon/bench/bench_run.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const char family_text[] =
	"{\"operation\":\"gemm/"
	"mm\",\"revision\":1,\"dims\":[\"m\",\"n\",\"k\"],\"roles\":["
	"{\"name\":\"a\",\"direction\":\"in\",\"dims\":[\"m\",\"k\"],\"key\":true,"
	"\"formats\":[\"f32\",\"f64\"]},"
	"{\"name\":\"b\",\"direction\":\"in\",\"dims\":[\"k\",\"n\"],\"key\":true,"
	"\"formats\":[\"f32\",\"f64\"]},"
	"{\"name\":\"c\",\"direction\":\"out\",\"dims\":[\"m\",\"n\"],\"key\":true,"
	"\"formats\":[\"f32\",\"f64\"]}],"
	"\"work\":{\"flops\":[[2,\"m\",\"n\",\"k\"]]},"
	"\"check\":{\"kind\":\"norm\",\"tolerance\":{\"f32\":1e-5,\"f64\":1e-9}}}";

static struct kp_family family;
static struct bench_plan plan;
static struct bench_row row;
static struct kp_worker_result result;
static struct kp_diag diag;

static void make(void)
{
	ck_assert_msg(kp_family_parse(family_text, strlen(family_text), "family", &family,
			      &diag) == 0,
		"%s", diag.message);
	plan = (struct bench_plan){.family = &family, .seed = 3};
	strcpy(plan.signature, "a=f32,b=f32,c=f32");
	plan.shapes = json_pack("[{s:i, s:i, s:i}]", "m", 10, "n", 20, "k", 30);
	plan.traits = json_object();
	row = (struct bench_row){.source = {.id = strdup("p/mm")}};
	result = (struct kp_worker_result){.end = KP_WORKER_DONE};
}

static void unmake(void)
{
	free(row.source.id);
	bench_plan_finish(&plan);
	kp_family_finish(&family);
}

static json_t *good(double median)
{
	return json_pack("{s:s, s:n, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
		"verdict", "ok", "message", "samples", 30, "warmup", 3, "median_us",
		median, "p10_us", 1.0, "p90_us", 3.0, "min_us", 0.5, "max_us", 4.0,
		"max_error", 1e-7, "tolerance", 1e-5);
}

/* As many samples as it says, each the median. */
static json_t *samples_of(const json_t *report)
{
	json_t *samples = json_array();
	double median = json_number_value(json_object_get(report, "median_us"));
	for (int i = 0; median < 1e9 && i < 30; i++)
		json_array_append_new(
			samples, json_integer((json_int_t)(median * 1e6 + 0.5)));
	return samples;
}

static json_t *run_with(json_t *report, json_t *fault, json_t *samples)
{
	const struct bench_words words = {report, fault, NULL, samples};
	(void)bench_run_keep(&plan, &row, &words, &result);
	json_t *run = bench_run_json(&plan, &row, &words, &result);
	ck_assert_ptr_nonnull(run);
	bench_taken_finish(&row.taken);
	json_decref(report);
	json_decref(fault);
	json_decref(samples);
	return run;
}

/* Takes report and fault. */
static json_t *run_of(json_t *report, json_t *fault)
{
	return run_with(report, fault, samples_of(report));
}

static const char *text(const json_t *run, const char *key)
{
	return json_string_value(json_object_get(run, key));
}

static void expect_number(const json_t *run, const char *key, double value)
{
	ck_assert_double_eq_tol(
		json_number_value(json_object_get(run, key)), value, 1e-12 * value);
}

static void expect_null(const json_t *run, const char *key)
{
	ck_assert_msg(json_is_null(json_object_get(run, key)), "%s", key);
}

static void expect_end(enum kp_worker_end end, json_t *fault, const char *verdict)
{
	result.end = end;
	kp_diag_set(&result.diag, "ended", "x", "killed by SIGSEGV during timing");
	json_t *run = run_of(good(2), fault);
	ck_assert_str_eq(text(run, "verdict"), verdict);
	ck_assert_ptr_nonnull(strstr(text(run, "message"), "killed by SIGSEGV"));
	expect_null(run, "median_us");
	expect_null(run, "gflops");
	json_decref(run);
}

START_TEST(rates_are_work_over_the_median)
{
	json_t *run = run_of(good(2), NULL);
	expect_number(run, "gflops", 2. * 10 * 20 * 30 / 2e3);
	expect_number(run, "gbytes_per_s", 4. * (300 + 600 + 200) / 2e3);
	json_decref(run);
}
END_TEST

START_TEST(bytes_are_those_of_the_signature)
{
	strcpy(plan.signature, "a=f64,b=f64,c=f64");
	json_t *run = run_of(good(2), NULL);
	expect_number(run, "gbytes_per_s", 8. * (300 + 600 + 200) / 2e3);
	json_decref(run);
}
END_TEST

START_TEST(no_work_is_no_rate)
{
	json_object_set_new(json_array_get(plan.shapes, 0), "k", json_integer(0));
	json_t *run = run_of(good(2), NULL);
	expect_null(run, "gflops");
	expect_number(run, "gbytes_per_s", 4. * 200 / 2e3);
	json_decref(run);
}
END_TEST

START_TEST(median_of_nothing_is_no_rate)
{
	json_t *run = run_of(good(0), NULL);
	expect_null(run, "gflops");
	expect_null(run, "gbytes_per_s");
	json_decref(run);
}
END_TEST

/* Members of a good report that are replaced, and what is wrong with them then. */
static const struct {
	const char *key;
	double value;
	const char *why;
} lies[] = {
	{"samples", 65537, "so many samples"},
	{"samples", 0, "so many samples"},
	{"samples", -1, "so many samples"},
	{"samples", 65536, "longer than its worker ran"},
	{"median_us", 0.00001, "so quick"},
	{"median_us", 1e-300, "so quick"},
	{"min_us", 2.5, "in no order"},
	{"p10_us", 2.5, "in no order"},
	{"p90_us", 1.5, "in no order"},
	{"max_us", 2.5, "in no order"},
	{"elapsed_ms", 80, "shorter than was asked for"},
};

START_TEST(report_that_no_worker_can_make_is_implausible)
{
	json_t *report = good(2);
	plan.time_s = 0.1;
	result.elapsed_ms = 101;
	row.verdict = NULL;
	if (strcmp(lies[_i].key, "samples") == 0)
		json_object_set_new(report, "samples", json_integer((int)lies[_i].value));
	else if (strcmp(lies[_i].key, "elapsed_ms") == 0)
		result.elapsed_ms = lies[_i].value;
	else
		json_object_set_new(report, lies[_i].key, json_real(lies[_i].value));
	/* The same samples, but slow. */
	if (lies[_i].value == 65536)
		result.elapsed_ms = 50;
	json_t *run = run_of(report, NULL);
	ck_assert_str_eq(text(run, "verdict"), "error");
	ck_assert_ptr_nonnull(strstr(text(run, "message"), "implausible"));
	ck_assert_ptr_nonnull(strstr(text(run, "message"), lies[_i].why));
	ck_assert_int_eq(json_integer_value(json_object_get(run, "samples")), 0);
	expect_null(run, "median_us");
	expect_null(run, "gflops");
	json_decref(run);
}
END_TEST

START_TEST(report_of_a_worker_that_ran_so_long_is_plausible)
{
	plan.time_s = 0.1;
	result.elapsed_ms = 101;
	json_t *run = run_of(good(2), NULL);
	ck_assert_str_eq(text(run, "verdict"), "ok");
	expect_number(run, "median_us", 2);
	json_decref(run);
}
END_TEST

START_TEST(numbers_that_no_clock_gives_are_null)
{
	json_t *report = good(-1);
	json_object_set_new(report, "p10_us", json_string("fast"));
	json_object_set_new(report, "samples", json_integer(-5));
	json_t *run = run_of(report, NULL);
	expect_null(run, "median_us");
	expect_null(run, "p10_us");
	expect_null(run, "gflops");
	ck_assert_int_eq(json_integer_value(json_object_get(run, "samples")), 0);
	json_decref(run);
}
END_TEST

START_TEST(verdict_that_nobody_knows_is_an_error)
{
	json_t *report = good(2);
	json_object_set_new(report, "verdict", json_string("splendid"));
	json_t *run = run_of(report, NULL);
	ck_assert_str_eq(text(run, "verdict"), "error");
	json_decref(run);
}
END_TEST

START_TEST(worker_that_said_nothing_is_an_error)
{
	json_t *run = run_of(NULL, NULL);
	ck_assert_str_eq(text(run, "verdict"), "error");
	json_decref(run);
}
END_TEST

START_TEST(death_is_a_crash_whatever_was_said_before)
{
	expect_end(KP_WORKER_KILLED, NULL, "crashed");
	expect_end(KP_WORKER_EXITED, NULL, "crashed");
}
END_TEST

START_TEST(death_at_a_fence_is_out_of_bounds)
{
	json_t *fault = json_pack(
		"{s:s, s:s, s:i}", "name", "c", "side", "behind", "distance", 1);
	expect_end(KP_WORKER_KILLED, fault, "out_of_bounds");
}
END_TEST

START_TEST(timeout_is_a_hang)
{
	expect_end(KP_WORKER_TIMED_OUT, NULL, "hung");
}
END_TEST

START_TEST(lost_worker_is_an_error)
{
	expect_end(KP_WORKER_LOST, NULL, "error");
}
END_TEST

START_TEST(last_line_of_the_output_is_evidence)
{
	result.end = KP_WORKER_KILLED;
	strcpy(result.output, "starting\nfree(): invalid size\n\n");
	kp_diag_set(&result.diag, "killed", "x", "killed by SIGABRT");
	json_t *run = run_of(NULL, NULL);
	ck_assert_str_eq(text(run, "message"), "killed by SIGABRT: free(): invalid size");
	json_decref(run);
}
END_TEST

START_TEST(row_that_was_not_run_says_why)
{
	row.verdict = "not_eligible";
	row.message = strdup("signature: required a=bf16, actual a=f32");
	const struct bench_words nothing = {0};
	json_t *run = bench_run_json(&plan, &row, &nothing, NULL);
	ck_assert_str_eq(text(run, "verdict"), "not_eligible");
	ck_assert_str_eq(text(run, "message"), row.message);
	json_decref(run);
	free(row.message);
}
END_TEST

START_TEST(work_of_another_case_is_no_rate)
{
	plan.is_unusual = true;
	json_object_set_new(plan.traits, "window", json_integer(5));
	json_t *run = run_of(good(2), NULL);
	expect_null(run, "gflops");
	expect_null(run, "gbytes_per_s");
	expect_number(run, "median_us", 2);
	ck_assert(json_equal(json_object_get(run, "traits"), plan.traits));
	json_decref(run);
}
END_TEST

START_TEST(trouble_of_a_shape_hides_the_remark_while_it_lasts)
{
	plan.remark = strdup("a remark");
	plan.trouble = strdup("trouble");
	json_t *run = run_of(good(2), NULL);
	ck_assert_str_eq(text(run, "message"), "trouble");
	json_decref(run);
	free(plan.trouble);
	plan.trouble = NULL;
	run = run_of(good(2), NULL);
	ck_assert_str_eq(text(run, "message"), "a remark");
	json_decref(run);
}
END_TEST

START_TEST(long_words_of_a_worker_are_cut)
{
	json_t *report = good(2);
	char *many = malloc(100001);
	ck_assert_ptr_nonnull(many);
	memset(many, 'm', 100000);
	many[100000] = '\0';
	json_object_set_new(report, "message", json_string(many));
	json_t *run = run_of(report, NULL);
	ck_assert_uint_lt(strlen(text(run, "message")), 10000);
	json_decref(run);
	free(many);
}
END_TEST

START_TEST(remark_is_the_message_of_what_was_timed)
{
	plan.remark = strdup("checked against r/mm, which is not in use");
	json_t *run = run_of(good(2), NULL);
	ck_assert_str_eq(text(run, "message"), plan.remark);
	json_decref(run);
	expect_end(KP_WORKER_KILLED, NULL, "crashed");
}
END_TEST

START_TEST(all_members_of_the_interface_are_there)
{
	static const char *const keys[] = {"operation", "kernel", "sha256", "signature",
		"shape", "traits", "seed", "verdict", "message", "samples", "warmup",
		"median_us", "p10_us", "p90_us", "min_us", "max_us", "gflops",
		"gbytes_per_s", "max_error", "tolerance", "plugin", "version", "closure",
		"solution", "priority", "revision", "threads", "order", "samples_us",
		"repeats", "clocks", "mad_us", "low_us", "high_us", "work", "check",
		"share", "gpu"};
	json_t *run = run_of(NULL, NULL);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		ck_assert_msg(json_object_get(run, keys[i]) != NULL, "%s", keys[i]);
	ck_assert_uint_eq(json_object_size(run), sizeof(keys) / sizeof(keys[0]));
	json_decref(run);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("bench_run");
	TCase *t = tcase_create("bench_run");
	tcase_add_checked_fixture(t, make, unmake);
	tcase_add_test(t, rates_are_work_over_the_median);
	tcase_add_test(t, bytes_are_those_of_the_signature);
	tcase_add_test(t, no_work_is_no_rate);
	tcase_add_test(t, median_of_nothing_is_no_rate);
	tcase_add_loop_test(t, report_that_no_worker_can_make_is_implausible, 0,
		(int)(sizeof(lies) / sizeof(lies[0])));
	tcase_add_test(t, report_of_a_worker_that_ran_so_long_is_plausible);
	tcase_add_test(t, numbers_that_no_clock_gives_are_null);
	tcase_add_test(t, verdict_that_nobody_knows_is_an_error);
	tcase_add_test(t, worker_that_said_nothing_is_an_error);
	tcase_add_test(t, death_is_a_crash_whatever_was_said_before);
	tcase_add_test(t, death_at_a_fence_is_out_of_bounds);
	tcase_add_test(t, timeout_is_a_hang);
	tcase_add_test(t, lost_worker_is_an_error);
	tcase_add_test(t, last_line_of_the_output_is_evidence);
	tcase_add_test(t, row_that_was_not_run_says_why);
	tcase_add_test(t, work_of_another_case_is_no_rate);
	tcase_add_test(t, trouble_of_a_shape_hides_the_remark_while_it_lasts);
	tcase_add_test(t, long_words_of_a_worker_are_cut);
	tcase_add_test(t, remark_is_the_message_of_what_was_timed);
	tcase_add_test(t, all_members_of_the_interface_are_there);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return suite_run(suite());
}
