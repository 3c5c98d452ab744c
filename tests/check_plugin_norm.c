/* SPDX-License-Identifier: MIT */
/* norm/rms and norm/softmax of every built plugin against numbers made here. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/guarded.h"
#include "tests/support/subject.h"
#include "tests/support/suite.h"

/* The tolerance of lib/families/norm.*.json for f32. */
static const double tolerance = 1e-5;

static const int64_t shapes[][2] = {{1, 1}, {3, 7}, {5, 33}, {17, 64}, {2, 1001}, {9, 8},
	{1, 31}, {0, 16}, {4, 0}, {0, 0}};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

/* Which kernel, and how its tensors lie. */
struct plan {
	enum guarded_layout x, weight, y;
	bool weighted, in_place;
	double eps;
};

struct rows {
	int64_t rows, n;
	struct guarded x, weight, y;
	double *expected;
};

static void rows_init(struct rows *t, const int64_t *shape, const struct plan *plan)
{
	t->rows = shape[0];
	t->n = shape[1];
	guarded_init(&t->x, KP_CODE_FLOAT, plan->x, 2, shape);
	guarded_init(&t->y, KP_CODE_FLOAT, plan->y, 2, shape);
	guarded_init(&t->weight, KP_CODE_FLOAT, plan->weight, 1, &shape[1]);
	guarded_fill(&t->x, 3);
	guarded_fill(&t->weight, 4);
	t->expected = calloc((size_t)(t->rows * t->n) + 1, sizeof(double));
	ck_assert_ptr_nonnull(t->expected);
}

static void rows_finish(struct rows *t)
{
	guarded_finish(&t->x);
	guarded_finish(&t->weight);
	guarded_finish(&t->y);
	free(t->expected);
}

static void expect_rms(struct rows *t, const struct plan *plan)
{
	for (int64_t r = 0; r < t->rows; r++) {
		double squares = 0;

		for (int64_t i = 0; i < t->n; i++)
			squares += pow(guarded_get(&t->x, r * t->n + i), 2);
		for (int64_t i = 0; i < t->n; i++)
			t->expected[r * t->n + i] =
				guarded_get(&t->x, r * t->n + i) *
				pow(squares / (double)t->n + plan->eps, -0.5) *
				(plan->weighted ? guarded_get(&t->weight, i) : 1);
	}
}

static void expect_softmax(struct rows *t)
{
	for (int64_t r = 0; r < t->rows; r++) {
		double sum = 0;

		for (int64_t i = 0; i < t->n; i++)
			sum += exp(guarded_get(&t->x, r * t->n + i));
		for (int64_t i = 0; i < t->n; i++)
			t->expected[r * t->n + i] =
				exp(guarded_get(&t->x, r * t->n + i)) / sum;
	}
}

static void judge(struct subject *subject, const struct guarded *y, const struct rows *t)
{
	ck_assert(subject->workspace_intact);
	ck_assert(guarded_intact(y));
	ck_assert_msg(guarded_distance(y, t->expected) <= tolerance,
		"%s: %d rows of %d: off by %g", subject->plugin, (int)t->rows, (int)t->n,
		guarded_distance(y, t->expected));
}

static void judge_rms(
	struct subject *subject, const int64_t *shape, const struct plan *plan)
{
	struct rows t;
	struct arguments arguments = {.roles = {&t.x, &t.weight, &t.y},
		.n_roles = 3,
		.attributes = {{.f = plan->eps}},
		.n_attributes = 1};

	rows_init(&t, shape, plan);
	expect_rms(&t, plan);
	if (!plan->weighted)
		arguments.roles[1] = NULL;
	if (plan->in_place)
		arguments.roles[2] = &t.x;
	ck_assert_int_eq(subject_run(subject, &arguments), KP_OK);
	judge(subject, arguments.roles[2], &t);
	rows_finish(&t);
}

static void judge_softmax(
	struct subject *subject, const int64_t *shape, const struct plan *plan)
{
	struct rows t;
	struct arguments arguments = {.roles = {&t.x, &t.y}, .n_roles = 2};

	rows_init(&t, shape, plan);
	expect_softmax(&t);
	if (plan->in_place)
		arguments.roles[1] = &t.x;
	ck_assert_int_eq(subject_run(subject, &arguments), KP_OK);
	judge(subject, arguments.roles[1], &t);
	rows_finish(&t);
}

static const char *const rms_plugins[] = {"reference", "x86"};

static void judge_all_rms(const char *plugin, const struct plan *plan)
{
	struct subject subject;

	if (subject_open(&subject, plugin, "norm_rms"))
		for (int i = 0; i < SHAPES; i++)
			judge_rms(&subject, shapes[i], plan);
	subject_close(&subject);
}

static void judge_all_softmax(const struct plan *plan)
{
	struct subject subject;

	ck_assert(subject_open(&subject, "reference", "norm_softmax"));
	for (int i = 0; i < SHAPES; i++)
		judge_softmax(&subject, shapes[i], plan);
	subject_close(&subject);
}

START_TEST(rms_of_odd_rows_is_right)
{
	judge_all_rms(rms_plugins[_i], &(struct plan){.weighted = true, .eps = 1e-6});
}
END_TEST

START_TEST(k01_rms_without_its_optional_weight_is_right)
{
	judge_all_rms(rms_plugins[_i], &(struct plan){.eps = 1e-6});
}
END_TEST

START_TEST(rms_takes_eps_from_the_call)
{
	judge_all_rms(rms_plugins[_i], &(struct plan){.weighted = true, .eps = 10});
}
END_TEST

START_TEST(rms_in_place_is_right)
{
	judge_all_rms(rms_plugins[_i],
		&(struct plan){.weighted = true, .in_place = true, .eps = 1e-6});
}
END_TEST

START_TEST(k03_strided_rms_is_right)
{
	for (int x = 0; x < GUARDED_LAYOUTS; x++)
		for (int y = 0; y < GUARDED_LAYOUTS; y++)
			judge_all_rms(rms_plugins[_i],
				&(struct plan){.x = x,
					.weight = (x + y) % GUARDED_LAYOUTS,
					.y = y,
					.weighted = true,
					.eps = 1e-6});
}
END_TEST

START_TEST(k02_rms_of_nothing_writes_nothing)
{
	static const int64_t empty[][2] = {{0, 16}, {4, 0}, {0, 0}};
	struct subject subject;

	if (subject_open(&subject, rms_plugins[_i], "norm_rms")) {
		for (int i = 0; i < 3; i++) {
			struct rows t;
			struct arguments arguments = {
				.roles = {&t.x, &t.weight, &t.y}, .n_roles = 3};

			rows_init(&t, empty[i], &(struct plan){0});
			ck_assert_int_eq(subject_run(&subject, &arguments), KP_OK);
			ck_assert(guarded_untouched(&t.y));
			rows_finish(&t);
		}
	}
	subject_close(&subject);
}
END_TEST

/* Without attributes in the call eps is the family's default, 1e-6. */
START_TEST(rms_of_zeros_is_zero)
{
	struct subject subject;

	if (subject_open(&subject, rms_plugins[_i], "norm_rms")) {
		struct rows t;
		struct arguments arguments = {
			.roles = {&t.x, &t.weight, &t.y}, .n_roles = 3};

		rows_init(&t, (int64_t[]){3, 19}, &(struct plan){0});
		for (int64_t i = 0; i < t.x.count; i++)
			guarded_set(&t.x, i, 0);
		ck_assert_int_eq(subject_run(&subject, &arguments), KP_OK);
		judge(&subject, &t.y, &t);
		rows_finish(&t);
	}
	subject_close(&subject);
}
END_TEST

START_TEST(softmax_of_odd_rows_is_right)
{
	judge_all_softmax(&(struct plan){0});
}
END_TEST

START_TEST(softmax_in_place_is_right)
{
	judge_all_softmax(&(struct plan){.in_place = true});
}
END_TEST

START_TEST(k03_strided_softmax_is_right)
{
	for (int x = 0; x < GUARDED_LAYOUTS; x++)
		judge_all_softmax(&(struct plan){.x = x, .y = _i});
}
END_TEST

/* One row each time, of the three numbers; the softmax must be these. */
static void judge_three(const float *x, const double *expected)
{
	struct subject subject;
	struct rows t;
	struct arguments arguments = {.roles = {&t.x, &t.y}, .n_roles = 2};

	ck_assert(subject_open(&subject, "reference", "norm_softmax"));
	rows_init(&t, (int64_t[]){1, 3}, &(struct plan){0});
	for (int i = 0; i < 3; i++) {
		guarded_set(&t.x, i, x[i]);
		t.expected[i] = expected[i];
	}
	ck_assert_int_eq(subject_run(&subject, &arguments), KP_OK);
	judge(&subject, &t.y, &t);
	rows_finish(&t);
	subject_close(&subject);
}

START_TEST(softmax_of_huge_numbers_does_not_overflow)
{
	judge_three((float[]){3e38f, 3e38f, -3e38f}, (double[]){0.5, 0.5, 0});
	judge_three(
		(float[]){-3e38f, -3e38f, -3e38f}, (double[]){1.0 / 3, 1.0 / 3, 1.0 / 3});
	judge_three((float[]){1000, 1000 + 1, -1000},
		(double[]){1 / (1 + M_E), M_E / (1 + M_E), 0});
}
END_TEST

START_TEST(k02_softmax_of_a_row_that_is_masked_throughout_is_zero)
{
	judge_three((float[]){-INFINITY, -INFINITY, -INFINITY}, (double[]){0, 0, 0});
	judge_three((float[]){-INFINITY, 5, -INFINITY}, (double[]){0, 1, 0});
	judge_three((float[]){0, -INFINITY, 0}, (double[]){0.5, 0, 0.5});
}
END_TEST

START_TEST(softmax_does_not_hide_a_number_that_is_none)
{
	static const float rows[3][3] = {{NAN, 0, 1}, {0, NAN, 1}, {0, 1, NAN}};
	struct subject subject;
	struct rows t;
	struct arguments arguments = {.roles = {&t.x, &t.y}, .n_roles = 2};

	ck_assert(subject_open(&subject, "reference", "norm_softmax"));
	rows_init(&t, (int64_t[]){1, 3}, &(struct plan){0});
	for (int i = 0; i < 3; i++)
		guarded_set(&t.x, i, rows[_i][i]);
	ck_assert_int_eq(subject_run(&subject, &arguments), KP_OK);
	for (int i = 0; i < 3; i++)
		ck_assert(isnan(guarded_get(&t.y, i)));
	rows_finish(&t);
	subject_close(&subject);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plugin_norm");
	TCase *rms = tcase_create("norm_rms"), *softmax = tcase_create("norm_softmax");

	tcase_add_loop_test(rms, rms_of_odd_rows_is_right, 0, 2);
	tcase_add_loop_test(rms, k01_rms_without_its_optional_weight_is_right, 0, 2);
	tcase_add_loop_test(rms, rms_takes_eps_from_the_call, 0, 2);
	tcase_add_loop_test(rms, rms_in_place_is_right, 0, 2);
	tcase_add_loop_test(rms, k03_strided_rms_is_right, 0, 2);
	tcase_add_loop_test(rms, k02_rms_of_nothing_writes_nothing, 0, 2);
	tcase_add_loop_test(rms, rms_of_zeros_is_zero, 0, 2);
	tcase_add_test(softmax, softmax_of_odd_rows_is_right);
	tcase_add_test(softmax, softmax_in_place_is_right);
	tcase_add_loop_test(softmax, k03_strided_softmax_is_right, 0, GUARDED_LAYOUTS);
	tcase_add_test(softmax, softmax_of_huge_numbers_does_not_overflow);
	tcase_add_test(softmax, k02_softmax_of_a_row_that_is_masked_throughout_is_zero);
	tcase_add_loop_test(softmax, softmax_does_not_hide_a_number_that_is_none, 0, 3);
	suite_add_tcase(suite, rms);
	suite_add_tcase(suite, softmax);
	return suite_run(suite);
}
