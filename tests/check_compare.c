/* SPDX-License-Identifier: MIT */
/* Wrong results are found, however they hide; right ones pass. */
#include "lib/family/compare.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/random.h"
#include "lib/family/element.h"
#include "tests/support/suite.h"

enum { N = 10000 };

/* A vector of doubles as a tensor of rows of `width`. */
struct vector {
	int64_t shape[2], strides[2];
	struct kp_tensor tensor;
};

static struct kp_tensor *vector(struct vector *v, double *data, int64_t n, int64_t width)
{
	*v = (struct vector){{n / width, width}, {width, 1}, {0}};
	v->tensor = (struct kp_tensor){.data = data,
		.ndim = 2,
		.dtype = {KP_CODE_FLOAT, 64, 1},
		.shape = v->shape,
		.strides = v->strides};
	return &v->tensor;
}

static struct kp_comparison compare_rows(enum kp_check_kind kind, double *result,
	double *reference, int64_t n, int64_t width, double tolerance)
{
	struct vector a;
	struct vector b;
	struct kp_comparison c;
	struct kp_diag diag = {0};
	int rc = kp_compare(kind, vector(&a, result, n, width),
		vector(&b, reference, n, width), tolerance, &c, &diag);
	ck_assert_msg(rc == 0, "%s", diag.message);
	return c;
}

static struct kp_comparison compare(enum kp_check_kind kind, double *result,
	double *reference, int64_t n, double tolerance)
{
	return compare_rows(kind, result, reference, n, n > 0 ? n : 1, tolerance);
}

static double *noise(uint64_t seed)
{
	struct kp_random random;
	double *data = calloc(N, sizeof(*data));
	kp_random_seed(&random, seed, "noise");
	for (int i = 0; i < N; i++)
		data[i] = kp_random_normal(&random);
	return data;
}

START_TEST(rounding_passes_and_ten_times_the_tolerance_does_not)
{
	double *reference = noise(1);
	double *small = noise(1);
	double *large = noise(1);
	double *off = noise(2);
	for (int i = 0; i < N; i++) {
		small[i] += off[i] * 0.5e-5;
		large[i] += off[i] * 1e-4;
	}
	struct kp_comparison c = compare(KP_CHECK_NORM, small, reference, N, 1e-5);
	ck_assert(c.right);
	ck_assert(!c.has_first);
	ck_assert_double_gt(c.error, 0.4e-5);
	ck_assert_double_lt(c.error, 0.6e-5);
	c = compare(KP_CHECK_NORM, large, reference, N, 1e-5);
	ck_assert(!c.right);
	ck_assert(c.has_first);
	ck_assert_double_gt(c.error, 0.9e-4);
	free(reference);
	free(small);
	free(large);
	free(off);
}
END_TEST

START_TEST(one_wrong_element_of_many_is_found_and_named)
{
	double *reference = noise(3);
	double *result = noise(3);
	result[7777] += 0.001;
	struct kp_comparison c = compare(KP_CHECK_NORM, result, reference, N, 1e-5);
	ck_assert(!c.right);
	ck_assert_uint_eq(c.n_wrong, 1);
	ck_assert_uint_eq(c.first, 7777);
	ck_assert_double_eq(c.reference, reference[7777]);
	ck_assert_double_eq_tol(c.largest, 0.001, 1e-12);
	free(reference);
	free(result);
}
END_TEST

static const double not_finite[] = {NAN, INFINITY, -INFINITY};
static const enum kp_check_kind kinds[] = {KP_CHECK_NORM, KP_CHECK_EXACT, KP_CHECK_SET};

START_TEST(ad01_not_a_number_fails_whatever_the_tolerance)
{
	for (int k = 0; k < 3; k++) {
		double reference[] = {1, 2, 3, 4};
		double result[] = {1, 2, not_finite[_i], 4};
		struct kp_comparison c = compare(kinds[k], result, reference, 4, 1e300);
		ck_assert(!c.right);
		ck_assert(isinf(c.error));
		ck_assert(c.has_first);
		if (kinds[k] == KP_CHECK_SET)
			continue; /* counts places of sorted rows */
		ck_assert_uint_eq(c.n_wrong, 1);
		ck_assert_uint_eq(c.first, 2);
	}
}
END_TEST

START_TEST(ad02_infinity_in_both_outputs_fails_whatever_the_tolerance)
{
	for (int k = 0; k < 3; k++) {
		double reference[] = {1, not_finite[_i], 3};
		double result[] = {1, not_finite[_i], 3};
		struct kp_comparison c = compare(kinds[k], result, reference, 3, 1e300);
		ck_assert(!c.right);
		ck_assert_uint_eq(c.n_wrong, 1);
		ck_assert(isinf(c.error));
	}
}
END_TEST

START_TEST(a_reference_of_zeros_is_compared_absolutely)
{
	double zeros[] = {0, 0, 0};
	double near[] = {1e-6, 0, 0};
	double far[] = {0, 1e-3, 0};
	ck_assert(compare(KP_CHECK_NORM, zeros, zeros, 3, 1e-5).right);
	ck_assert(compare(KP_CHECK_NORM, near, zeros, 3, 1e-5).right);
	struct kp_comparison c = compare(KP_CHECK_NORM, far, zeros, 3, 1e-5);
	ck_assert(!c.right);
	ck_assert_uint_eq(c.first, 1);
}
END_TEST

START_TEST(a_scale_does_not_matter)
{
	static const double scales[] = {1e-300, 1e-20, 1, 1e20, 1e300};
	for (int s = 0; s < 5; s++) {
		double reference[] = {3 * scales[s], 4 * scales[s]};
		double result[] = {3 * scales[s], 4.001 * scales[s]};
		struct kp_comparison c =
			compare(KP_CHECK_NORM, result, reference, 2, 1e-5);
		ck_assert(!c.right);
		ck_assert_double_eq_tol(c.error, 2e-4, 1e-9);
		ck_assert(compare(KP_CHECK_NORM, result, reference, 2, 3e-4).right);
	}
}
END_TEST

START_TEST(nothing_is_right)
{
	double none[1] = {NAN};
	for (int k = 0; k < 3; k++) {
		struct kp_comparison c = compare(kinds[k], none, none, 0, 1e-5);
		ck_assert(c.right);
		ck_assert_double_eq(c.error, 0);
	}
}
END_TEST

START_TEST(exact_allows_nothing)
{
	double reference[] = {1, 2, -0.0};
	double same[] = {1, 2, 0.0};
	double off[] = {1, nextafter(2, 3), 0};
	ck_assert(compare(KP_CHECK_EXACT, same, reference, 3, 1).right);
	struct kp_comparison c = compare(KP_CHECK_EXACT, off, reference, 3, 1);
	ck_assert(!c.right);
	ck_assert_uint_eq(c.first, 1);
	ck_assert_double_eq(c.tolerance, 0);
}
END_TEST

START_TEST(exact_sees_the_last_bit_of_an_integer_of_64)
{
	int64_t reference[] = {INT64_MAX, (INT64_C(1) << 60) + 1};
	int64_t result[] = {INT64_MAX, INT64_C(1) << 60};
	int64_t shape = 2;
	int64_t stride = 1;
	struct kp_tensor a = {.data = result,
		.ndim = 1,
		.dtype = {KP_CODE_INT, 64, 1},
		.shape = &shape,
		.strides = &stride};
	struct kp_tensor b = a;
	struct kp_comparison c;
	b.data = reference;
	ck_assert_int_eq(kp_compare(KP_CHECK_EXACT, &a, &b, 0, &c, NULL), 0);
	ck_assert(!c.right);
	ck_assert_uint_eq(c.n_wrong, 1);
	ck_assert_uint_eq(c.first, 1);
	result[1]++;
	ck_assert_int_eq(kp_compare(KP_CHECK_EXACT, &a, &b, 0, &c, NULL), 0);
	ck_assert(c.right);
}
END_TEST

START_TEST(a_set_is_the_same_in_any_order_within_its_row)
{
	double reference[] = {1, 2, 3, 4, 4, 5};
	double turned[] = {3, 1, 2, 5, 4, 4};
	double mixed[] = {1, 2, 4, 3, 4, 5};
	double counted[] = {1, 2, 3, 4, 5, 5};
	ck_assert(compare_rows(KP_CHECK_SET, turned, reference, 6, 3, 0).right);
	ck_assert(!compare_rows(KP_CHECK_SET, mixed, reference, 6, 3, 0).right);
	struct kp_comparison c = compare_rows(KP_CHECK_SET, counted, reference, 6, 3, 0);
	ck_assert(!c.right);
	ck_assert_uint_ge(c.first, 3);
}
END_TEST

START_TEST(dtypes_and_strides_may_differ)
{
	uint16_t result[] = {0x3f80, 0xdead, 0x4000, 0xdead, 0x4040, 0xdead}; /* 1 2 3 */
	float reference[] = {3, 2, 1};
	int64_t shape = 3;
	int64_t forward = 2;
	int64_t backward = -1;
	struct kp_tensor a = {.data = result,
		.ndim = 1,
		.dtype = {KP_CODE_BFLOAT, 16, 1},
		.shape = &shape,
		.strides = &forward};
	struct kp_tensor b = {.data = reference + 2,
		.ndim = 1,
		.dtype = {KP_CODE_FLOAT, 32, 1},
		.shape = &shape,
		.strides = &backward};
	struct kp_comparison c;
	for (int k = 0; k < 3; k++) {
		ck_assert_int_eq(kp_compare(kinds[k], &a, &b, 1e-9, &c, NULL), 0);
		ck_assert(c.right);
	}
}
END_TEST

START_TEST(what_cannot_be_compared_is_an_error)
{
	double data[4] = {0};
	struct vector a;
	struct vector b;
	struct kp_comparison c;
	struct kp_diag diag;
	vector(&a, data, 4, 2);
	vector(&b, data, 4, 4);
	ck_assert_int_eq(
		kp_compare(KP_CHECK_NORM, &a.tensor, &b.tensor, 1, &c, &diag), -1);
	ck_assert_str_eq(diag.code, "shapes_differ");
	ck_assert_int_eq(
		kp_compare(KP_CHECK_DISTRIBUTION, &a.tensor, &a.tensor, 1, &c, &diag),
		-1);
	ck_assert_str_eq(diag.code, "unsupported_check");
	b = a;
	b.tensor.shape = b.shape;
	b.tensor.dtype.lanes = 2;
	ck_assert_int_eq(
		kp_compare(KP_CHECK_NORM, &a.tensor, &b.tensor, 1, &c, &diag), -1);
	ck_assert_str_eq(diag.code, "bad_dtype");
}
END_TEST

START_TEST(a_comparison_is_said_in_a_sentence)
{
	double reference[] = {0.25, 1};
	double result[] = {0.5, 1};
	char text[160];
	struct kp_comparison c = compare(KP_CHECK_NORM, result, reference, 2, 1e-5);
	kp_comparison_print(&c, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "element 0 is 0.5, the reference has 0.25"));
	ck_assert_ptr_nonnull(strstr(text, "1e-05"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("compare");
	TCase *tcase = tcase_create("compare");
	tcase_add_test(tcase, rounding_passes_and_ten_times_the_tolerance_does_not);
	tcase_add_test(tcase, one_wrong_element_of_many_is_found_and_named);
	tcase_add_loop_test(tcase, ad01_not_a_number_fails_whatever_the_tolerance, 0, 3);
	tcase_add_loop_test(
		tcase, ad02_infinity_in_both_outputs_fails_whatever_the_tolerance, 0, 3);
	tcase_add_test(tcase, a_reference_of_zeros_is_compared_absolutely);
	tcase_add_test(tcase, a_scale_does_not_matter);
	tcase_add_test(tcase, nothing_is_right);
	tcase_add_test(tcase, exact_allows_nothing);
	tcase_add_test(tcase, exact_sees_the_last_bit_of_an_integer_of_64);
	tcase_add_test(tcase, a_set_is_the_same_in_any_order_within_its_row);
	tcase_add_test(tcase, dtypes_and_strides_may_differ);
	tcase_add_test(tcase, what_cannot_be_compared_is_an_error);
	tcase_add_test(tcase, a_comparison_is_said_in_a_sentence);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
