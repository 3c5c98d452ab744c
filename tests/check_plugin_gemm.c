/* SPDX-License-Identifier: MIT */
/* gemm/mm of every built plugin against sums made here. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/guarded.h"
#include "tests/support/subject.h"
#include "tests/support/suite.h"

/* The types of a, b and c, and what may be off: for bf16 one rounding. */
static const struct types {
	uint8_t a, b, c;
	double tolerance;
} f32 = {KP_CODE_FLOAT, KP_CODE_FLOAT, KP_CODE_FLOAT, 1e-5},
  bf16 = {KP_CODE_BFLOAT, KP_CODE_BFLOAT, KP_CODE_BFLOAT, 4e-3},
  mixed = {KP_CODE_BFLOAT, KP_CODE_BFLOAT, KP_CODE_FLOAT, 1e-5};

static const struct trial {
	const char *plugin, *kernel;
	const struct types *types;
} trials[] = {
	{"reference", "gemm_mm", &f32},
	{"reference", "gemm_mm", &bf16},
	{"reference", "gemm_mm", &mixed},
	{"x86", "gemm_mm", &f32},
	{"x86", "gemm_mm", &bf16},
	{"x86", "gemm_mm", &mixed},
	{"x86", "gemm_mm_avx512", &f32},
	{"x86", "gemm_mm_avx512", &bf16},
	{"x86", "gemm_mm_avx512", &mixed},
	{"openblas", "gemm_mm", &f32},
};
enum { TRIALS = sizeof(trials) / sizeof(trials[0]), OPENBLAS = TRIALS - 1, X86 = 3 };

struct product {
	const struct types *types;
	int64_t m, n, k;
	struct guarded a, b, c;
	double *expected;
};

static void product_init(struct product *product, const struct types *types, int64_t m,
	int64_t n, int64_t k, enum guarded_layout a, enum guarded_layout b,
	enum guarded_layout c)
{
	product->types = types;
	product->m = m;
	product->n = n;
	product->k = k;
	guarded_init(&product->a, types->a, a, 2, (int64_t[]){m, k});
	guarded_init(&product->b, types->b, b, 2, (int64_t[]){k, n});
	guarded_init(&product->c, types->c, c, 2, (int64_t[]){m, n});
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
static int judge(struct subject *subject, const struct types *types, int64_t m, int64_t n,
	int64_t k, enum guarded_layout a, enum guarded_layout b, enum guarded_layout c)
{
	struct product product;
	int status;
	double distance;

	product_init(&product, types, m, n, k, a, b, c);
	status = product_run(&product, subject);
	ck_assert(subject->workspace_intact);
	ck_assert(guarded_intact(&product.c));
	if (status == KP_OK) {
		distance = guarded_distance(&product.c, product.expected);
		ck_assert_msg(distance <= types->tolerance,
			"%s: m=%d n=%d k=%d layouts %d %d %d: off by %g", subject->plugin,
			(int)m, (int)n, (int)k, a, b, c, distance);
	} else {
		ck_assert(guarded_untouched(&product.c));
	}
	product_finish(&product);
	return status;
}

static void judge_rows(struct subject *subject, const struct types *types, int64_t m,
	int64_t n, int64_t k)
{
	ck_assert_int_eq(
		judge(subject, types, m, n, k, GUARDED_ROWS, GUARDED_ROWS, GUARDED_ROWS),
		KP_OK);
}

START_TEST(small_and_odd_products_are_right)
{
	static const int64_t extents[] = {1, 2, 5, 6, 7, 15, 16, 17, 33};
	enum { COUNT = sizeof(extents) / sizeof(extents[0]) };
	struct subject subject;

	if (subject_open(&subject, trials[_i].plugin, trials[_i].kernel))
		for (int m = 0; m < COUNT; m++)
			for (int n = 0; n < COUNT; n++)
				for (int k = 0; k < COUNT; k++)
					judge_rows(&subject, trials[_i].types, extents[m],
						extents[n], extents[k]);
	subject_close(&subject);
}
END_TEST

/* More than a block or a slice of x86 in each dim: 144, 2304 rows; 256, 3072 columns. */
START_TEST(products_larger_than_a_block_are_right)
{
	struct subject subject;

	if (subject_open(&subject, trials[_i].plugin, trials[_i].kernel)) {
		judge_rows(&subject, trials[_i].types, 145, 40, 257);
		judge_rows(&subject, trials[_i].types, 10, 3073, 257);
		judge_rows(&subject, trials[_i].types, 289, 17, 513);
		judge_rows(&subject, trials[_i].types, 2311, 9, 259);
	}
	subject_close(&subject);
}
END_TEST

START_TEST(k02_product_without_depth_is_zero)
{
	struct subject subject;

	if (subject_open(&subject, trials[_i].plugin, trials[_i].kernel))
		for (int layout = 0; layout < GUARDED_LAYOUTS; layout++)
			ck_assert_int_eq(judge(&subject, trials[_i].types, 7, 19, 0,
						 GUARDED_ROWS, GUARDED_ROWS, layout),
				KP_OK);
	subject_close(&subject);
}
END_TEST

START_TEST(k02_product_without_rows_or_columns_writes_nothing)
{
	struct subject subject;

	if (subject_open(&subject, trials[_i].plugin, trials[_i].kernel)) {
		judge_rows(&subject, trials[_i].types, 0, 5, 3);
		judge_rows(&subject, trials[_i].types, 3, 0, 5);
		judge_rows(&subject, trials[_i].types, 0, 0, 0);
		judge_rows(&subject, trials[_i].types, 0, 16, 0);
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

	if (subject_open(&subject, trials[_i].plugin, trials[_i].kernel)) {
		for (int i = 0; i < ALL; i++) {
			enum guarded_layout a = i % GUARDED_LAYOUTS,
					    b = i / GUARDED_LAYOUTS % GUARDED_LAYOUTS,
					    c = i / GUARDED_LAYOUTS / GUARDED_LAYOUTS;
			bool every = _i != OPENBLAS;
			bool taken = every || (plain(a) && plain(b) && plain(c));

			ck_assert_int_eq(
				judge(&subject, trials[_i].types, 13, 35, 9, a, b, c),
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

	if (subject_open(&subject, trials[_i].plugin, trials[_i].kernel)) {
		for (int i = 0; i < 3; i++) {
			struct product product;

			product_init(&product, trials[_i].types, shapes[i][0],
				shapes[i][1], shapes[i][2], GUARDED_ROWS, GUARDED_ROWS,
				GUARDED_ROWS);
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
				product.types->tolerance);
			product_finish(&product);
		}
	}
	subject_close(&subject);
}
END_TEST

/* Row `row` of one product, computed alone, to the last bit. */
static void judge_row(struct subject *subject, const struct product *many, int64_t row,
	enum guarded_layout b, enum guarded_layout c)
{
	struct product one;

	product_init(&one, many->types, 1, many->n, many->k, GUARDED_ROWS, b, c);
	for (int64_t p = 0; p < many->k; p++)
		guarded_set(&one.a, p, guarded_get(&many->a, row * many->k + p));
	ck_assert_int_eq(product_run(&one, subject), KP_OK);
	for (int64_t j = 0; j < many->n; j++)
		ck_assert_msg(guarded_get(&one.c, j) ==
				      guarded_get(&many->c, row * many->n + j),
			"row %d, column %d, layouts %d %d", (int)row, (int)j, b, c);
	product_finish(&one);
}

START_TEST(row_of_a_product_does_not_depend_on_the_others)
{
	struct subject subject;

	if (subject_open(&subject, trials[_i].plugin, trials[_i].kernel)) {
		struct product many;

		product_init(&many, trials[_i].types, 149, 541, 300, GUARDED_ROWS,
			GUARDED_ROWS, GUARDED_ROWS);
		ck_assert_int_eq(product_run(&many, &subject), KP_OK);
		for (int layout = 0; layout < GUARDED_LAYOUTS; layout++)
			judge_row(&subject, &many, 37 * layout, layout,
				GUARDED_LAYOUTS - 1 - layout);
		product_finish(&many);
	}
	subject_close(&subject);
}
END_TEST

/* Column `column` of one product, computed alone, to the last bit. */
static void judge_column(struct subject *subject, const struct product *many,
	int64_t column, enum guarded_layout a)
{
	struct product one;

	product_init(
		&one, many->types, many->m, 1, many->k, a, GUARDED_ROWS, GUARDED_PADDED);
	for (int64_t p = 0; p < many->k; p++)
		guarded_set(&one.b, p, guarded_get(&many->b, p * many->n + column));
	ck_assert_int_eq(product_run(&one, subject), KP_OK);
	for (int64_t i = 0; i < many->m; i++)
		ck_assert_msg(guarded_get(&one.c, i) ==
				      guarded_get(&many->c, i * many->n + column),
			"row %d, column %d, layout %d", (int)i, (int)column, a);
	product_finish(&one);
}

START_TEST(column_of_a_product_does_not_depend_on_the_others)
{
	struct subject subject;

	if (subject_open(&subject, trials[_i].plugin, trials[_i].kernel)) {
		struct product many;

		product_init(&many, trials[_i].types, 541, 35, 300, GUARDED_ROWS,
			GUARDED_ROWS, GUARDED_ROWS);
		ck_assert_int_eq(product_run(&many, &subject), KP_OK);
		for (int layout = 0; layout < GUARDED_LAYOUTS; layout++)
			judge_column(&subject, &many, 7 * layout, layout);
		product_finish(&many);
	}
	subject_close(&subject);
}
END_TEST

START_TEST(need_never_falls_as_a_dim_grows)
{
	struct subject subject;

	if (subject_open(&subject, trials[_i].plugin, trials[_i].kernel)) {
		for (int dim = 0; dim < 3; dim++) {
			uint64_t before = 0;

			for (int64_t extent = 0; extent < 7000; extent += 97) {
				int64_t at[3] = {50, 50, 50};
				struct guarded roles[3] = {0};
				const uint8_t codes[3] = {trials[_i].types->a,
					trials[_i].types->b, trials[_i].types->c};
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
					g->tensor.dtype.code = codes[r];
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

	if (subject_open(&subject, trials[_i].plugin, trials[_i].kernel)) {
		struct product product;
		struct arguments arguments = {
			.roles = {&product.a, &product.b, &product.c},
			.n_roles = 3,
			.withheld = 1};

		product_init(&product, trials[_i].types, 9, 9, 9, GUARDED_ROWS,
			GUARDED_ROWS, GUARDED_ROWS);
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
	product_init(&product, &f32, 3, 3, 3, GUARDED_ROWS, GUARDED_ROWS, GUARDED_ROWS);
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
	product_init(&product, &f32, 3, 4, 5, GUARDED_ROWS, GUARDED_ROWS, GUARDED_ROWS);
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
	tcase_add_loop_test(tcase, small_and_odd_products_are_right, 0, TRIALS);
	tcase_add_loop_test(tcase, products_larger_than_a_block_are_right, 0, TRIALS);
	tcase_add_loop_test(tcase, k02_product_without_depth_is_zero, 0, TRIALS);
	tcase_add_loop_test(
		tcase, k02_product_without_rows_or_columns_writes_nothing, 0, TRIALS);
	tcase_add_loop_test(tcase, k03_strided_products_are_right_or_refused, 0, TRIALS);
	tcase_add_loop_test(tcase, k03_stride_of_a_single_line_means_nothing, 0, TRIALS);
	tcase_add_loop_test(
		tcase, row_of_a_product_does_not_depend_on_the_others, 0, OPENBLAS);
	tcase_add_loop_test(
		tcase, column_of_a_product_does_not_depend_on_the_others, 0, OPENBLAS);
	tcase_add_loop_test(tcase, need_never_falls_as_a_dim_grows, 0, TRIALS);
	tcase_add_loop_test(
		tcase, x86_refuses_a_workspace_that_is_too_small, X86, OPENBLAS);
	tcase_add_test(tcase, openblas_says_that_it_was_not_loaded);
	tcase_add_test(tcase, reference_names_the_role_that_does_not_fit);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
