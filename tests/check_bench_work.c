/* SPDX-License-Identifier: MIT */
/* Work and rates of families that only tests have, at 1000 us a call. */
#include "daemon/bench/bench_run.h"
#include "daemon/bench/bench_work.h"
#include "tests/support/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define F16 "\"key\":true,\"formats\":[\"f16\",\"f32\"]"
#define ROLE(name, direction, dims)                                                      \
	"{\"name\":\"" name "\",\"direction\":\"" direction "\",\"dims\":" dims "," F16  \
	"}"
#define CHECK "\"check\":{\"kind\":\"norm\",\"tolerance\":{\"f16\":1e-2,\"f32\":1e-5}}"

static const char bmm[] =
	"{\"operation\":\"bmm/mm\",\"revision\":1,\"dims\":[\"b\",\"m\",\"n\",\"k\"],"
	"\"roles\":[" ROLE("a", "in", "[\"b\",\"m\",\"k\"]") "," ROLE(
		"b", "in", "[\"b\",\"k\",\"n\"]") "," ROLE("c", "out",
		"[\"b\",\"m\",\"n\"]") "],\"work\":{\"flops\":[[2,\"b\",\"m\",\"n\","
				       "\"k\"]]}," CHECK "}";

static const char attn[] =
	"{\"operation\":\"attn/decode\",\"revision\":1,"
	"\"dims\":[\"b\",\"s\",\"h\",\"hkv\",\"d\"],"
	"\"aliases\":{\"batch_size\":\"b\",\"max_seq_len\":\"s\",\"heads\":\"h\"},"
	"\"defaults\":{\"hkv\":\"h\"},"
	"\"roles\":[" ROLE("q", "in", "[\"b\",\"h\",\"d\"]") "," ROLE(
		"k", "in", "[\"b\",\"s\",\"hkv\",\"d\"]") "," ROLE("v", "in",
		"[\"b\",\"s\",\"hkv\",\"d\"]") "," ROLE("out", "out",
		"[\"b\",\"h\",\"d\"]") "],\"work\":{\"flops\":[[4,\"b\",\"s\",\"h\","
				       "\"d\"]]}," CHECK "}";

static const char attn_signature[] = "k=f16,out=f16,q=f16,v=f16";

/* GFLOP/s and GB/s at 1000 us; 0: none. */
static void expect(const char *text, const char *signature, const char *extents,
	double gflops, double gbytes)
{
	struct kp_family family;
	struct kp_diag diag;
	struct kp_shape shape;
	struct bench_work work;
	ck_assert_msg(kp_family_parse(text, strlen(text), "family", &family, &diag) == 0,
		"%s", diag.message);
	struct bench_plan plan = {.family = &family};
	strcpy(plan.signature, signature);
	json_t *value = json_loads(extents, 0, NULL);
	ck_assert_msg(kp_shape_from_json(value, &family, &shape, &diag) == 0, "%s",
		diag.message);
	bench_work_init(&work, &plan, &shape);
	json_t *flops = bench_work_rate(work.flops, 1000);
	json_t *bytes = bench_work_rate(work.bytes, 1000);
	ck_assert_int_eq(json_is_null(flops), gflops == 0);
	ck_assert_int_eq(json_is_null(bytes), gbytes == 0);
	ck_assert_double_le(fabs(json_number_value(flops) - gflops), 1e-12 * gflops);
	ck_assert_double_le(fabs(json_number_value(bytes) - gbytes), 1e-12 * gbytes);
	json_decref(flops);
	json_decref(bytes);
	json_decref(value);
	bench_work_finish(&work);
	kp_family_finish(&family);
}

START_TEST(bm07_batched_product_of_halves)
{
	const char *halves = "a=f16,b=f16,c=f16";
	expect(bmm, halves, "{\"b\":2,\"m\":4,\"n\":8,\"k\":16}", 2.048e-3, 0.000896);
	expect(bmm, halves, "{\"b\":4,\"m\":4,\"n\":8,\"k\":16}", 4.096e-3, 0.001792);
	expect(bmm, "a=f32,b=f32,c=f32", "{\"b\":2,\"m\":4,\"n\":8,\"k\":16}", 2.048e-3,
		0.001792);
}
END_TEST

START_TEST(bm09_decode_attention_with_grouped_heads)
{
	expect(attn, attn_signature, "{\"b\":2,\"s\":4,\"h\":8,\"hkv\":2,\"d\":16}",
		4.096e-3, 0.002048);
	expect(attn, attn_signature, "{\"b\":1,\"s\":4,\"h\":8,\"hkv\":2,\"d\":16}",
		2.048e-3, 0.001024);
	expect(attn, attn_signature, "{\"b\":2,\"s\":4,\"h\":8,\"hkv\":8,\"d\":16}",
		4.096e-3, 0.005120);
}
END_TEST

START_TEST(bm10_dims_by_other_names_and_heads_that_are_not_said)
{
	static const char *const shapes[] = {
		"{\"batch_size\":1,\"max_seq_len\":2,\"heads\":2,\"d\":16}",
		"{\"b\":1,\"s\":2,\"heads\":2,\"d\":16}",
		"{\"batch_size\":1,\"max_seq_len\":2,\"heads\":2,\"hkv\":2,\"d\":16}",
	};
	expect(attn, attn_signature, shapes[_i], 2.56e-4, 0.000384);
}
END_TEST

START_TEST(bm11_without_an_extent_there_is_no_rate)
{
	static const char *const shapes[] = {
		"{\"b\":2,\"s\":4,\"h\":8,\"hkv\":2}",
		"{\"batch_size\":2,\"heads\":8}",
		"{}",
	};
	expect(attn, attn_signature, shapes[_i], 0, 0);
}
END_TEST

START_TEST(numbers_that_are_none_are_null)
{
	static const double bad[] = {
		NAN, INFINITY, -INFINITY, -0.0, -1, -1e-300, 1e31, 1.7e308};
	json_t *value = bench_number(bad[_i]);
	ck_assert(json_is_null(value));
	json_decref(value);
}
END_TEST

START_TEST(numbers_that_are_measured_stay)
{
	static const double good[] = {0, 5e-324, 1e-9, 1, 1e30};
	json_t *value = bench_number(good[_i]);
	ck_assert_double_eq(json_number_value(value), good[_i]);
	ck_assert(json_is_real(value));
	json_decref(value);
}
END_TEST

START_TEST(extents_beyond_all_bounds_are_no_rate)
{
	const char *huge = "{\"b\":1099511627776,\"m\":1099511627776,"
			   "\"n\":1099511627776,\"k\":1099511627776}";
	expect(bmm, "a=f16,b=f16,c=f16", huge, 0, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench_work");
	TCase *tcase = tcase_create("bench_work");
	tcase_add_test(tcase, bm07_batched_product_of_halves);
	tcase_add_test(tcase, bm09_decode_attention_with_grouped_heads);
	tcase_add_loop_test(
		tcase, bm10_dims_by_other_names_and_heads_that_are_not_said, 0, 3);
	tcase_add_loop_test(tcase, bm11_without_an_extent_there_is_no_rate, 0, 3);
	tcase_add_loop_test(tcase, numbers_that_are_none_are_null, 0, 8);
	tcase_add_loop_test(tcase, numbers_that_are_measured_stay, 0, 5);
	tcase_add_test(tcase, extents_beyond_all_bounds_are_no_rate);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
