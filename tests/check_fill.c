/* SPDX-License-Identifier: MIT */
/* Inputs are what the family asks for, and the same for the same seed. */
#include "lib/family/fill.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/random.h"
#include "lib/family/element.h"
#include "lib/family/tensor.h"
#include "tests/support/suite.h"

enum { MOST = 4096 };

/* A family whose one input is filled like this. */
static void family_with(const char *format, const char *fill, struct kp_family *family)
{
	char text[1024];
	struct kp_diag diag;
	snprintf(text, sizeof(text),
		"{\"operation\":\"t/t\",\"revision\":1,\"dims\":[\"n\",\"k\",\"total\"],"
		"\"derived\":{\"half\":{\"times\":[\"k\"],\"over\":[2]}},"
		"\"roles\":[{\"name\":\"x\",\"direction\":\"in\",\"dims\":[\"n\"],"
		"\"formats\":[\"%s\"],\"fill\":%s}],\"check\":{\"kind\":\"exact\"}}",
		format, fill);
	int rc = kp_family_parse(text, strlen(text), "t.t.json", family, &diag);
	ck_assert_msg(rc == 0, "%s", diag.message);
}

/* Fills n elements and reads them back as numbers; k is 100, total 60. */
static int fill(const char *format, const char *how, int64_t n, uint64_t seed,
	double *values, struct kp_diag *diag)
{
	struct kp_family family;
	struct kp_shape shape = {0};
	struct kp_layout layout;
	struct kp_format f;
	family_with(format, how, &family);
	kp_shape_set(&shape, "n", n);
	kp_shape_set(&shape, "k", 100);
	kp_shape_set(&shape, "total", 60);
	ck_assert_int_eq(kp_format_parse(format, &f, NULL), 0);
	ck_assert_int_eq(
		kp_layout_of_role(&family.roles[0], &shape, &f, &layout, NULL), 0);
	char *data = calloc(1, layout.bytes + 1);
	struct kp_tensor tensor = kp_layout_tensor(&layout, data);
	int rc = kp_fill(&family, &family.roles[0], &shape, seed, &tensor, diag);
	for (int64_t i = 0; rc == 0 && i < n; i++)
		values[i] = kp_element_load(
			f.element, data + (size_t)i * kp_element_bytes(f.element));
	free(data);
	kp_family_finish(&family);
	return rc;
}

static void filled(
	const char *format, const char *how, int64_t n, uint64_t seed, double *values)
{
	struct kp_diag diag = {0};
	int rc = fill(format, how, n, seed, values, &diag);
	ck_assert_msg(rc == 0, "%s", diag.message);
}

static const char *const floats[] = {"f64", "f32", "f16", "bf16"};

START_TEST(normal_has_the_mean_and_the_deviation_asked_for)
{
	double v[MOST];
	double sum = 0;
	double squares = 0;
	filled(floats[_i], "{\"kind\":\"normal\",\"scale\":3}", MOST, 1, v);
	for (int i = 0; i < MOST; i++) {
		ck_assert(isfinite(v[i]));
		sum += v[i];
		squares += v[i] * v[i];
	}
	ck_assert_double_lt(fabs(sum / MOST), 0.3);
	ck_assert_double_lt(fabs(sqrt(squares / MOST) - 3), 0.2);
}
END_TEST

START_TEST(uniform_stays_in_its_range_and_reaches_both_ends)
{
	double v[MOST];
	double low = INFINITY;
	double high = -INFINITY;
	filled(floats[_i], "{\"kind\":\"uniform\",\"min\":-1,\"max\":\"half\"}", MOST, 2,
		v);
	for (int i = 0; i < MOST; i++) {
		low = fmin(low, v[i]);
		high = fmax(high, v[i]);
	}
	ck_assert_double_ge(low, -1);
	ck_assert_double_le(high, 50); /* rounding of a small dtype may reach it */
	ck_assert_double_lt(low, 0);
	ck_assert_double_gt(high, 49);
}
END_TEST

static const char *const integers[] = {"i32", "i64", "u8", "i16"};

START_TEST(integers_are_uniform_below_their_end)
{
	double v[MOST];
	int seen[7] = {0};
	filled(integers[_i], "{\"kind\":\"uniform\",\"min\":2,\"max\":9}", MOST, 3, v);
	for (int i = 0; i < MOST; i++) {
		ck_assert_double_ge(v[i], 2);
		ck_assert_double_lt(v[i], 9);
		seen[(int)v[i] - 2]++;
	}
	for (int i = 0; i < 7; i++)
		ck_assert_int_gt(seen[i], MOST / 7 / 2);
	filled(integers[_i], "{\"kind\":\"ids\",\"below\":\"k\"}", MOST, 3, v);
	for (int i = 0; i < MOST; i++) {
		ck_assert_double_ge(v[i], 0);
		ck_assert_double_lt(v[i], 100);
		ck_assert_double_eq(v[i], floor(v[i]));
	}
}
END_TEST

START_TEST(constant_and_zero_are_what_they_say)
{
	double v[8];
	filled("bf16", "{\"kind\":\"constant\",\"value\":-0.5}", 8, 4, v);
	for (int i = 0; i < 8; i++)
		ck_assert_double_eq(v[i], -0.5);
	filled("i64", "{\"kind\":\"constant\",\"value\":\"k\"}", 8, 4, v);
	ck_assert_double_eq(v[7], 100);
	filled("i32", "{\"kind\":\"zero\"}", 8, 4, v);
	for (int i = 0; i < 8; i++)
		ck_assert_double_eq(v[i], 0);
}
END_TEST

static const int64_t lens_counts[] = {1, 2, 3, 7, 30, 60};

START_TEST(lens_with_a_total_sum_to_it_and_stay_in_range)
{
	double v[64];
	for (uint64_t seed = 0; seed < 50; seed++) {
		double sum = 0;
		int64_t n = lens_counts[_i];
		filled("i32",
			"{\"kind\":\"lens\",\"min\":0,\"max\":\"k\",\"total\":\"total\"}",
			n, seed, v);
		for (int64_t i = 0; i < n; i++) {
			ck_assert_double_ge(v[i], 0);
			ck_assert_double_le(v[i], 100);
			sum += v[i];
		}
		ck_assert_double_eq(sum, 60);
	}
}
END_TEST

START_TEST(lens_reach_totals_at_both_ends_of_what_is_possible)
{
	double v[64];
	filled("i32", "{\"kind\":\"lens\",\"min\":12,\"max\":100,\"total\":60}", 5, 1, v);
	for (int i = 0; i < 5; i++)
		ck_assert_double_eq(v[i], 12);
	filled("i32", "{\"kind\":\"lens\",\"min\":0,\"max\":12,\"total\":60}", 5, 1, v);
	for (int i = 0; i < 5; i++)
		ck_assert_double_eq(v[i], 12);
	filled("i32", "{\"kind\":\"lens\",\"min\":3,\"max\":5}", 64, 1, v);
	for (int i = 0; i < 64; i++)
		ck_assert(v[i] == 3 || v[i] == 4 || v[i] == 5);
}
END_TEST

START_TEST(pages_are_a_permutation_and_start_again_behind_it)
{
	double v[250];
	int seen[100] = {0};
	int moved = 0;
	filled("i32", "{\"kind\":\"pages\",\"below\":\"k\"}", 250, 5, v);
	for (int i = 0; i < 100; i++) {
		seen[(int)v[i]]++;
		moved += v[i] != i;
	}
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(seen[i], 1);
	ck_assert_int_gt(moved, 80);
	for (int i = 100; i < 250; i++)
		ck_assert_double_eq(v[i], v[i - 100]);
}
END_TEST

START_TEST(indptr_goes_from_0_to_the_total_and_never_falls)
{
	double v[40];
	for (int64_t n = 2; n < 40; n++) {
		filled("i64", "{\"kind\":\"indptr\",\"total\":\"total\"}", n, (uint64_t)n,
			v);
		ck_assert_double_eq(v[0], 0);
		ck_assert_double_eq(v[n - 1], 60);
		for (int64_t i = 1; i < n; i++)
			ck_assert_double_ge(v[i], v[i - 1]);
	}
}
END_TEST

static const struct {
	const char *format, *fill;
	int64_t n;
} impossible[] = {
	{"f32", "{\"kind\":\"uniform\",\"min\":1,\"max\":0}", 3},
	{"i32", "{\"kind\":\"ids\",\"below\":0}", 3},
	{"i32", "{\"kind\":\"pages\",\"below\":0}", 3},
	{"i32", "{\"kind\":\"lens\",\"min\":5,\"max\":4}", 3},
	{"i32", "{\"kind\":\"lens\",\"min\":0,\"max\":4,\"total\":13}", 3},
	{"i32", "{\"kind\":\"lens\",\"min\":2,\"max\":4,\"total\":5}", 3},
	{"i32", "{\"kind\":\"lens\",\"min\":0,\"max\":4,\"total\":1}", 0},
	{"i32", "{\"kind\":\"indptr\",\"total\":-1}", 3},
	{"i32", "{\"kind\":\"indptr\",\"total\":1}", 1},
};

START_TEST(a_fill_that_cannot_be_met_is_refused)
{
	double v[8];
	struct kp_diag diag;
	ck_assert_int_eq(fill(impossible[_i].format, impossible[_i].fill,
				 impossible[_i].n, 1, v, &diag),
		-1);
	ck_assert_str_eq(diag.code, "bad_fill");
	ck_assert_str_eq(diag.object, "x");
}
END_TEST

START_TEST(a_shape_without_a_dim_that_the_fill_needs_is_refused)
{
	struct kp_family family;
	struct kp_shape shape = {0};
	struct kp_diag diag;
	float value;
	int64_t extent = 1;
	int64_t stride = 1;
	struct kp_tensor tensor = {.data = &value,
		.ndim = 1,
		.dtype = {KP_CODE_INT, 32, 1},
		.shape = &extent,
		.strides = &stride};
	family_with("i32", "{\"kind\":\"ids\",\"below\":\"half\"}", &family);
	ck_assert_int_eq(
		kp_fill(&family, &family.roles[0], &shape, 1, &tensor, &diag), -1);
	ck_assert_str_eq(diag.code, "missing_dim");
	ck_assert_ptr_nonnull(strstr(diag.message, "half"));
	tensor.dtype.bits = 24;
	ck_assert_int_eq(
		kp_fill(&family, &family.roles[0], &shape, 1, &tensor, &diag), -1);
	ck_assert_str_eq(diag.code, "bad_dtype");
	kp_family_finish(&family);
}
END_TEST

START_TEST(the_same_seed_gives_the_same_and_another_another)
{
	double a[64];
	double b[64];
	static const char *const how[] = {"{\"kind\":\"normal\"}",
		"{\"kind\":\"uniform\",\"min\":0,\"max\":1}",
		"{\"kind\":\"uniform\",\"min\":0,\"max\":5}"};
	for (int i = 0; i < 3; i++) {
		filled("f32", how[i], 64, 7, a);
		filled("f32", how[i], 64, 7, b);
		ck_assert_mem_eq(a, b, sizeof(a));
		filled("f32", how[i], 64, 8, b);
		ck_assert_mem_ne(a, b, sizeof(a));
	}
}
END_TEST

START_TEST(strides_do_not_change_values_and_gaps_are_left_alone)
{
	struct kp_family family;
	struct kp_shape shape = {0};
	float dense[24];
	float spread[24 * 3];
	int64_t extents[] = {4, 6};
	int64_t rows[] = {6, 1};
	int64_t columns[] = {3, 12};
	struct kp_tensor a = {.data = dense,
		.ndim = 2,
		.dtype = {KP_CODE_FLOAT, 32, 1},
		.shape = extents,
		.strides = rows};
	struct kp_tensor b = a;
	b.data = spread;
	b.strides = columns;
	memset(spread, 0x55, sizeof(spread));
	family_with("f32", "{\"kind\":\"normal\"}", &family);
	ck_assert_int_eq(kp_fill(&family, &family.roles[0], &shape, 3, &a, NULL), 0);
	ck_assert_int_eq(kp_fill(&family, &family.roles[0], &shape, 3, &b, NULL), 0);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 6; j++)
			ck_assert_float_eq(dense[i * 6 + j], spread[i * 3 + j * 12]);
	for (size_t i = 0; i < 24 * 3; i++)
		if (i % 3 != 0)
			ck_assert_mem_eq(&spread[i], "\x55\x55\x55\x55", 4);
	kp_family_finish(&family);
}
END_TEST

START_TEST(poison_is_seen_in_every_dtype)
{
	unsigned char data[32];
	int64_t extent = 4;
	int64_t stride = 1;
	for (int e = 0; e < KP_ELEMENTS; e++) {
		enum kp_element element = (enum kp_element)e;
		struct kp_tensor tensor = {.data = data,
			.ndim = 1,
			.dtype = kp_element_dtype(element),
			.shape = &extent,
			.strides = &stride};
		size_t bytes = kp_element_bytes(element) * 4;
		memset(data, 0, sizeof(data));
		ck_assert_int_eq(kp_fill_poison(&tensor, NULL), 0);
		for (size_t i = 0; i < 4; i++) {
			const void *at = data + i * kp_element_bytes(element);
			if (kp_element_is_real(element))
				ck_assert(isnan(kp_element_load(element, at)));
		}
		if (!kp_element_is_real(element))
			ck_assert_uint_eq(data[bytes - 1], 0xff);
		ck_assert(bytes == sizeof(data) || data[bytes] == 0);
	}
}
END_TEST

START_TEST(the_generator_is_the_published_one)
{
	/* The first results of SplitMix64 for the seed 1234567. */
	static const uint64_t published[] = {6457827717110365317u, 3203168211198807973u,
		9817491932198370423u, 4593380528125082431u, 16408922859458223821u};
	struct kp_random random = {.state = 1234567};
	for (size_t i = 0; i < 5; i++)
		ck_assert_uint_eq(kp_random_next(&random), published[i]);
}
END_TEST

START_TEST(below_is_always_below)
{
	static const uint64_t ends[] = {1, 2, 3, 10, UINT64_C(1) << 63, UINT64_MAX};
	struct kp_random random;
	kp_random_seed(&random, 9, "x");
	for (size_t i = 0; i < 6; i++)
		for (int n = 0; n < 200; n++)
			ck_assert_uint_lt(kp_random_below(&random, ends[i]), ends[i]);
	ck_assert_uint_eq(kp_random_below(&random, 0), 0);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
	Suite *suite = suite_create("fill");
	TCase *tcase = tcase_create("fill");
	tcase_add_loop_test(
		tcase, normal_has_the_mean_and_the_deviation_asked_for, 0, COUNT(floats));
	tcase_add_loop_test(tcase, uniform_stays_in_its_range_and_reaches_both_ends, 0,
		COUNT(floats));
	tcase_add_loop_test(
		tcase, integers_are_uniform_below_their_end, 0, COUNT(integers));
	tcase_add_test(tcase, constant_and_zero_are_what_they_say);
	tcase_add_loop_test(tcase, lens_with_a_total_sum_to_it_and_stay_in_range, 0,
		COUNT(lens_counts));
	tcase_add_test(tcase, lens_reach_totals_at_both_ends_of_what_is_possible);
	tcase_add_test(tcase, pages_are_a_permutation_and_start_again_behind_it);
	tcase_add_test(tcase, indptr_goes_from_0_to_the_total_and_never_falls);
	tcase_add_loop_test(
		tcase, a_fill_that_cannot_be_met_is_refused, 0, COUNT(impossible));
	tcase_add_test(tcase, a_shape_without_a_dim_that_the_fill_needs_is_refused);
	tcase_add_test(tcase, the_same_seed_gives_the_same_and_another_another);
	tcase_add_test(tcase, strides_do_not_change_values_and_gaps_are_left_alone);
	tcase_add_test(tcase, poison_is_seen_in_every_dtype);
	tcase_add_test(tcase, the_generator_is_the_published_one);
	tcase_add_test(tcase, below_is_always_below);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
