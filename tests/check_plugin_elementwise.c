/* SPDX-License-Identifier: MIT */
/* activation/silu_mul and elementwise/square against numbers made here. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "tests/support/guarded.h"
#include "tests/support/subject.h"
#include "tests/support/suite.h"

/* The tolerances of the families for f32. */
static const double silu_tolerance = 1e-5, square_tolerance = 1e-6;

/* One call of silu_mul on [rows, n]; `in_place` writes over gate. */
static void judge_silu(int64_t rows, int64_t n, enum guarded_layout in,
	enum guarded_layout out, bool in_place)
{
	const int64_t shape[] = {rows, n};
	struct subject subject;
	struct guarded gate, up, other;
	struct arguments arguments = {
		.roles = {&gate, &up, in_place ? &gate : &other}, .n_roles = 3};
	double *expected = calloc((size_t)(rows * n) + 1, sizeof(double));

	ck_assert_ptr_nonnull(expected);
	ck_assert(subject_open(&subject, "reference", "activation_silu_mul"));
	guarded_init(&gate, KP_CODE_FLOAT, in, 2, shape);
	guarded_init(&up, KP_CODE_FLOAT, (in + out) % GUARDED_LAYOUTS, 2, shape);
	guarded_init(&other, KP_CODE_FLOAT, out, 2, shape);
	guarded_fill(&gate, 5);
	guarded_fill(&up, 6);
	for (int64_t i = 0; i < gate.count; i++) {
		double x = guarded_get(&gate, i) * 20;

		guarded_set(&gate, i, (float)x);
		x = (float)x;
		expected[i] = x * (0.5 + 0.5 * tanh(x / 2)) * guarded_get(&up, i);
	}
	ck_assert_int_eq(subject_run(&subject, &arguments), KP_OK);
	ck_assert(guarded_intact(arguments.roles[2]));
	ck_assert_double_le(
		guarded_distance(arguments.roles[2], expected), silu_tolerance);
	guarded_finish(&gate);
	guarded_finish(&up);
	guarded_finish(&other);
	free(expected);
	subject_close(&subject);
}

static void judge_square(
	int64_t n, enum guarded_layout in, enum guarded_layout out, bool in_place)
{
	struct subject subject;
	struct guarded x, other;
	struct arguments arguments = {
		.roles = {&x, in_place ? &x : &other}, .n_roles = 2};
	double *expected = calloc((size_t)n + 1, sizeof(double));

	ck_assert_ptr_nonnull(expected);
	ck_assert(subject_open(&subject, "reference", "elementwise_square"));
	guarded_init(&x, KP_CODE_FLOAT, in, 1, &n);
	guarded_init(&other, KP_CODE_FLOAT, out, 1, &n);
	guarded_fill(&x, 7);
	for (int64_t i = 0; i < n; i++)
		expected[i] = pow(guarded_get(&x, i), 2);
	ck_assert_int_eq(subject_run(&subject, &arguments), KP_OK);
	ck_assert(guarded_intact(arguments.roles[1]));
	ck_assert_double_le(
		guarded_distance(arguments.roles[1], expected), square_tolerance);
	guarded_finish(&x);
	guarded_finish(&other);
	free(expected);
	subject_close(&subject);
}

START_TEST(silu_mul_of_odd_shapes_is_right)
{
	judge_silu(1, 1, GUARDED_ROWS, GUARDED_ROWS, false);
	judge_silu(3, 7, GUARDED_ROWS, GUARDED_ROWS, false);
	judge_silu(33, 257, GUARDED_ROWS, GUARDED_ROWS, false);
}
END_TEST

START_TEST(silu_mul_in_place_is_right)
{
	judge_silu(3, 7, GUARDED_ROWS, GUARDED_ROWS, true);
	judge_silu(3, 7, GUARDED_COLUMNS, GUARDED_ROWS, true);
	judge_silu(3, 7, GUARDED_PADDED, GUARDED_ROWS, true);
}
END_TEST

START_TEST(k03_strided_silu_mul_is_right)
{
	for (int in = 0; in < GUARDED_LAYOUTS; in++)
		for (int out = 0; out < GUARDED_LAYOUTS; out++)
			judge_silu(5, 9, in, out, false);
}
END_TEST

START_TEST(k02_silu_mul_of_nothing_writes_nothing)
{
	judge_silu(0, 8, GUARDED_ROWS, GUARDED_ROWS, false);
	judge_silu(4, 0, GUARDED_ROWS, GUARDED_ROWS, false);
	judge_silu(0, 0, GUARDED_ROWS, GUARDED_ROWS, false);
}
END_TEST

/* exp(-x) overflows for the first two: the result must be 0, not a NaN. */
START_TEST(silu_mul_of_large_gates_is_right)
{
	static const float gates[] = {-1000, -3e38f, 1000, 0};
	static const double expected[] = {0, 0, 2000, 0};
	const int64_t shape[] = {1, 4};
	struct subject subject;
	struct guarded gate, up, out;
	struct arguments arguments = {.roles = {&gate, &up, &out}, .n_roles = 3};

	ck_assert(subject_open(&subject, "reference", "activation_silu_mul"));
	guarded_init(&gate, KP_CODE_FLOAT, GUARDED_ROWS, 2, shape);
	guarded_init(&up, KP_CODE_FLOAT, GUARDED_ROWS, 2, shape);
	guarded_init(&out, KP_CODE_FLOAT, GUARDED_ROWS, 2, shape);
	for (int i = 0; i < 4; i++) {
		guarded_set(&gate, i, gates[i]);
		guarded_set(&up, i, 2);
	}
	ck_assert_int_eq(subject_run(&subject, &arguments), KP_OK);
	for (int i = 0; i < 4; i++)
		ck_assert_double_eq(guarded_get(&out, i), expected[i]);
	guarded_finish(&gate);
	guarded_finish(&up);
	guarded_finish(&out);
	subject_close(&subject);
}
END_TEST

START_TEST(square_of_odd_lengths_is_right)
{
	judge_square(1, GUARDED_ROWS, GUARDED_ROWS, false);
	judge_square(7, GUARDED_ROWS, GUARDED_ROWS, false);
	judge_square(1001, GUARDED_ROWS, GUARDED_ROWS, false);
}
END_TEST

START_TEST(square_in_place_is_right)
{
	judge_square(33, GUARDED_ROWS, GUARDED_ROWS, true);
	judge_square(33, GUARDED_SPREAD, GUARDED_ROWS, true);
	judge_square(33, GUARDED_REVERSED, GUARDED_ROWS, true);
}
END_TEST

START_TEST(k03_strided_square_is_right)
{
	for (int in = 0; in < GUARDED_LAYOUTS; in++)
		for (int out = 0; out < GUARDED_LAYOUTS; out++)
			judge_square(13, in, out, false);
}
END_TEST

START_TEST(k02_square_of_nothing_writes_nothing)
{
	for (int layout = 0; layout < GUARDED_LAYOUTS; layout++)
		judge_square(0, layout, layout, false);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plugin_elementwise");
	TCase *tcase = tcase_create("elementwise");

	tcase_add_test(tcase, silu_mul_of_odd_shapes_is_right);
	tcase_add_test(tcase, silu_mul_in_place_is_right);
	tcase_add_test(tcase, k03_strided_silu_mul_is_right);
	tcase_add_test(tcase, k02_silu_mul_of_nothing_writes_nothing);
	tcase_add_test(tcase, silu_mul_of_large_gates_is_right);
	tcase_add_test(tcase, square_of_odd_lengths_is_right);
	tcase_add_test(tcase, square_in_place_is_right);
	tcase_add_test(tcase, k03_strided_square_is_right);
	tcase_add_test(tcase, k02_square_of_nothing_writes_nothing);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
