/* SPDX-License-Identifier: MIT */
/* gemm/mm of every built plugin against sums made here. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/guarded.h"
#include "tests/support/subject.h"
#include "tests/support/suite.h"

static const char *const plugins[] = {"reference", "x86", "openblas"};
enum { PLUGINS = sizeof(plugins) / sizeof(plugins[0]) };

/* The tolerance of lib/families/gemm.mm.json for f32. */
static const double tolerance = 1e-5;

struct product {
	int64_t m, n, k;
	struct guarded a, b, c;
	double *expected;
};

static void product_init(struct product *product, int64_t m, int64_t n, int64_t k,
	enum guarded_layout a, enum guarded_layout b, enum guarded_layout c)
{
	product->m = m;
	product->n = n;
	product->k = k;
	guarded_init(&product->a, KP_CODE_FLOAT, a, 2, (int64_t[]){m, k});
	guarded_init(&product->b, KP_CODE_FLOAT, b, 2, (int64_t[]){k, n});
	guarded_init(&product->c, KP_CODE_FLOAT, c, 2, (int64_t[]){m, n});
	guarded_fill(&product->a, 1);
	guarded_fill(&product->b, 2);
	product->expected = calloc((size_t)(m * n) + 1, sizeof(double));
	ck_assert_ptr_nonnull(product->expected);
	for (int64_t i = 0; i < m; i++)
		for (int64_t p = 0; p < k; p++)
			for (int64_t j = 0; j < n; j++)
				product->expected[i * n + j] +=
					(double)guarded_get(&product->a, i * k + p) *
					guarded_get(&product->b, p * n + j);
}

static void product_finish(struct product *product)
{
	guarded_finish(&product->a);
	guarded_finish(&product->b);
	guarded_finish(&product->c);
	free(product->expected);
}

static int product_run(struct product *product, struct subject *subject)
{
	struct arguments arguments = {
		.roles = {&product->a, &product->b, &product->c}, .n_roles = 3};

	return subject_run(subject, &arguments);
}

/* Runs one kernel on one product and judges what it wrote. Returns its status. */
static int judge(struct subject *subject, int64_t m, int64_t n, int64_t k,
	enum guarded_layout a, enum guarded_layout b, enum guarded_layout c)
{
	struct product product;
	int status;
	double distance;

	product_init(&product, m, n, k, a, b, c);
	status = product_run(&product, subject);
	ck_assert(subject->workspace_intact);
	ck_assert(guarded_intact(&product.c));
	if (status == KP_OK) {
		distance = guarded_distance(&product.c, product.expected);
		ck_assert_msg(distance <= tolerance,
			"%s: m=%d n=%d k=%d layouts %d %d %d: off by %g", subject->plugin,
			(int)m, (int)n, (int)k, a, b, c, distance);
	} else {
		ck_assert(guarded_untouched(&product.c));
	}
	product_finish(&product);
	return status;
}

static void judge_rows(struct subject *subject, int64_t m, int64_t n, int64_t k)
{
	ck_assert_int_eq(
		judge(subject, m, n, k, GUARDED_ROWS, GUARDED_ROWS, GUARDED_ROWS), KP_OK);
}

START_TEST(small_and_odd_products_are_right)
{
	static const int64_t extents[] = {1, 2, 5, 6, 7, 15, 16, 17, 33};
	enum { COUNT = sizeof(extents) / sizeof(extents[0]) };
	struct subject subject;

	if (subject_open(&subject, plugins[_i], "gemm_mm"))
		for (int m = 0; m < COUNT; m++)
			for (int n = 0; n < COUNT; n++)
				for (int k = 0; k < COUNT; k++)
					judge_rows(&subject, extents[m], extents[n],
						extents[k]);
	subject_close(&subject);
}
END_TEST

/* One more than a block of x86 in each dim: 144 rows, 3072 columns, 256 deep. */
START_TEST(products_larger_than_a_block_are_right)
{
	struct subject subject;

	if (subject_open(&subject, plugins[_i], "gemm_mm")) {
		judge_rows(&subject, 145, 40, 257);
		judge_rows(&subject, 10, 3073, 257);
		judge_rows(&subject, 289, 17, 513);
	}
	subject_close(&subject);
}
END_TEST

START_TEST(k02_product_without_depth_is_zero)
{
	struct subject subject;

	if (subject_open(&subject, plugins[_i], "gemm_mm"))
		for (int layout = 0; layout < GUARDED_LAYOUTS; layout++)
			ck_assert_int_eq(judge(&subject, 7, 19, 0, GUARDED_ROWS,
						 GUARDED_ROWS, layout),
				KP_OK);
	subject_close(&subject);
}
END_TEST

START_TEST(k02_product_without_rows_or_columns_writes_nothing)
{
	struct subject subject;

	if (subject_open(&subject, plugins[_i], "gemm_mm")) {
		judge_rows(&subject, 0, 5, 3);
		judge_rows(&subject, 3, 0, 5);
		judge_rows(&subject, 0, 0, 0);
		judge_rows(&subject, 0, 16, 0);
	}
	subject_close(&subject);
}
END_TEST

static bool plain(enum guarded_layout layout)
{
	return layout == GUARDED_ROWS || layout == GUARDED_COLUMNS ||
	       layout == GUARDED_PADDED;
}

/* What CBLAS cannot describe is refused by openblas; the others take everything. */
START_TEST(k03_strided_products_are_right_or_refused)
{
	enum { ALL = GUARDED_LAYOUTS * GUARDED_LAYOUTS * GUARDED_LAYOUTS };
	struct subject subject;

	if (subject_open(&subject, plugins[_i], "gemm_mm")) {
		for (int i = 0; i < ALL; i++) {
			enum guarded_layout a = i % GUARDED_LAYOUTS,
					    b = i / GUARDED_LAYOUTS % GUARDED_LAYOUTS,
					    c = i / GUARDED_LAYOUTS / GUARDED_LAYOUTS;
			bool every = strcmp(plugins[_i], "openblas") != 0;
			bool taken = every || (plain(a) && plain(b) && plain(c));

			ck_assert_int_eq(judge(&subject, 13, 35, 9, a, b, c),
				taken ? KP_OK : KP_UNSUPPORTED);
		}
	}
	subject_close(&subject);
}
END_TEST

/* With a single line the other stride means nothing: it may be anything. */
START_TEST(k03_stride_of_a_single_line_means_nothing)
{
	static const int64_t shapes[][3] = {{1, 18, 9}, {11, 1, 9}, {11, 18, 1}};
	struct subject subject;

	if (subject_open(&subject, plugins[_i], "gemm_mm")) {
		for (int i = 0; i < 3; i++) {
			struct product product;

			product_init(&product, shapes[i][0], shapes[i][1], shapes[i][2],
				GUARDED_ROWS, GUARDED_ROWS, GUARDED_ROWS);
			for (int d = 0; d < 2; d++) {
				if (product.a.shape[d] == 1)
					product.a.strides[d] = -77;
				if (product.b.shape[d] == 1)
					product.b.strides[d] = 0;
				if (product.c.shape[d] == 1)
					product.c.strides[d] = 1000003;
			}
			ck_assert_int_eq(product_run(&product, &subject), KP_OK);
			ck_assert_double_le(
				guarded_distance(&product.c, product.expected),
				tolerance);
			product_finish(&product);
		}
	}
	subject_close(&subject);
}
END_TEST

/* A row must come out the same to the last bit whatever rows are around it. */
START_TEST(row_of_a_product_does_not_depend_on_the_others)
{
	static const char *const invariant[] = {"reference", "x86"};
	struct subject subject;

	if (subject_open(&subject, invariant[_i], "gemm_mm")) {
		struct product many, one;

		product_init(
			&many, 149, 37, 300, GUARDED_ROWS, GUARDED_ROWS, GUARDED_ROWS);
		ck_assert_int_eq(product_run(&many, &subject), KP_OK);
		product_init(
			&one, 1, 37, 300, GUARDED_ROWS, GUARDED_ROWS, GUARDED_COLUMNS);
		for (int64_t row = 0; row < many.m; row += 37) {
			for (int64_t p = 0; p < many.k; p++)
				guarded_set(&one.a, p,
					guarded_get(&many.a, row * many.k + p));
			ck_assert_int_eq(product_run(&one, &subject), KP_OK);
			for (int64_t j = 0; j < many.n; j++)
				ck_assert(guarded_get(&one.c, j) ==
					  guarded_get(&many.c, row * many.n + j));
		}
		product_finish(&many);
		product_finish(&one);
	}
	subject_close(&subject);
}
END_TEST

START_TEST(need_never_falls_as_a_dim_grows)
{
	struct subject subject;

	if (subject_open(&subject, plugins[_i], "gemm_mm")) {
		for (int dim = 0; dim < 3; dim++) {
			uint64_t before = 0;

			for (int64_t extent = 0; extent < 7000; extent += 97) {
				int64_t at[3] = {50, 50, 50};
				struct guarded roles[3] = {0};
				struct arguments arguments = {
					.roles = {&roles[0], &roles[1], &roles[2]},
					.n_roles = 3};
				uint64_t bytes;

				at[dim] = extent;
				for (int r = 0; r < 3; r++) {
					struct guarded *g = &roles[r];

					g->shape[0] = at[r == 1 ? 2 : 0];
					g->shape[1] = at[r == 0 ? 2 : 1];
					g->tensor.shape = g->shape;
					g->tensor.strides = g->strides;
					g->tensor.ndim = 2;
				}
				bytes = subject_need(&subject, &arguments);
				ck_assert_uint_ge(bytes, before);
				before = bytes;
			}
		}
	}
	subject_close(&subject);
}
END_TEST

START_TEST(x86_refuses_a_workspace_that_is_too_small)
{
	struct subject subject;

	if (subject_open(&subject, "x86", "gemm_mm")) {
		struct product product;
		struct arguments arguments = {
			.roles = {&product.a, &product.b, &product.c},
			.n_roles = 3,
			.withheld = 1};

		product_init(&product, 9, 9, 9, GUARDED_ROWS, GUARDED_ROWS, GUARDED_ROWS);
		ck_assert_int_eq(subject_run(&subject, &arguments), KP_INVALID);
		ck_assert_ptr_nonnull(strstr(subject.error.text, "workspace"));
		ck_assert(guarded_untouched(&product.c));
		product_finish(&product);
	}
	subject_close(&subject);
}
END_TEST

START_TEST(openblas_says_that_it_was_not_loaded)
{
	struct subject subject;
	struct product product;
	void *device_state;

	ck_assert(subject_open(&subject, "openblas", "gemm_mm"));
	device_state = subject.device_state;
	subject.device_state = NULL;
	product_init(&product, 3, 3, 3, GUARDED_ROWS, GUARDED_ROWS, GUARDED_ROWS);
	ck_assert_int_eq(product_run(&product, &subject), KP_INVALID);
	ck_assert_ptr_nonnull(strstr(subject.error.text, "load"));
	ck_assert(guarded_untouched(&product.c));
	subject.device_state = device_state;
	product_finish(&product);
	subject_close(&subject);
}
END_TEST

START_TEST(reference_names_the_role_that_does_not_fit)
{
	struct subject subject;
	struct product product;

	ck_assert(subject_open(&subject, "reference", "gemm_mm"));
	product_init(&product, 3, 4, 5, GUARDED_ROWS, GUARDED_ROWS, GUARDED_ROWS);
	product.b.shape[0] = 6;
	ck_assert_int_eq(product_run(&product, &subject), KP_INVALID);
	ck_assert_str_eq(subject.error.text, "b: dim k is 6, not 5");
	ck_assert(guarded_untouched(&product.c));
	product_finish(&product);
	subject_close(&subject);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plugin_gemm");
	TCase *tcase = tcase_create("gemm_mm");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, small_and_odd_products_are_right, 0, PLUGINS);
	tcase_add_loop_test(tcase, products_larger_than_a_block_are_right, 0, PLUGINS);
	tcase_add_loop_test(tcase, k02_product_without_depth_is_zero, 0, PLUGINS);
	tcase_add_loop_test(
		tcase, k02_product_without_rows_or_columns_writes_nothing, 0, PLUGINS);
	tcase_add_loop_test(tcase, k03_strided_products_are_right_or_refused, 0, PLUGINS);
	tcase_add_loop_test(tcase, k03_stride_of_a_single_line_means_nothing, 0, PLUGINS);
	tcase_add_loop_test(tcase, row_of_a_product_does_not_depend_on_the_others, 0, 2);
	tcase_add_loop_test(tcase, need_never_falls_as_a_dim_grows, 0, PLUGINS);
	tcase_add_test(tcase, x86_refuses_a_workspace_that_is_too_small);
	tcase_add_test(tcase, openblas_says_that_it_was_not_loaded);
	tcase_add_test(tcase, reference_names_the_role_that_does_not_fit);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
