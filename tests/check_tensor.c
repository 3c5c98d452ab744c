/* SPDX-License-Identifier: MIT */
/* Sizes of tensors are exact or refused; walks visit every element once, in order. */
#include "lib/family/tensor.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const struct kp_factor two_dims[] = {{"m", 0}, {"k", 0}};
static const struct kp_factor fixed_dims[] = {{"m", 0}, {NULL, 3}, {"k", 0}};
static const struct kp_role matrix = {.name = "a", .rank = 2, .dims = two_dims};
static const struct kp_role fixed = {.name = "f", .rank = 3, .dims = fixed_dims};
static const struct kp_role scalar = {.name = "s", .rank = 0};

static struct kp_format format(const char *text)
{
	struct kp_format f;
	ck_assert_int_eq(kp_format_parse(text, &f, NULL), 0);
	return f;
}

static struct kp_shape shape(int64_t m, int64_t k)
{
	struct kp_shape s = {0};
	kp_shape_set(&s, "m", m);
	kp_shape_set(&s, "k", k);
	return s;
}

static const struct {
	const struct kp_role *role;
	int64_t m, k;
	const char *format;
	size_t elements, bytes;
} sizes[] = {
	{&matrix, 4, 6, "f32", 24, 96},
	{&matrix, 1, 1, "f64", 1, 8},
	{&matrix, 7, 3, "i8", 21, 21},
	{&matrix, 0, 6, "bf16", 0, 0},
	{&matrix, 6, 0, "bf16", 0, 0},
	{&fixed, 2, 5, "f16", 30, 60},
	{&scalar, 2, 5, "i64", 1, 8},
};

START_TEST(a_role_in_a_shape_has_exactly_these_bytes)
{
	struct kp_shape s = shape(sizes[_i].m, sizes[_i].k);
	struct kp_format f = format(sizes[_i].format);
	struct kp_layout layout;
	int64_t first;
	int64_t end;
	ck_assert_int_eq(kp_layout_of_role(sizes[_i].role, &s, &f, &layout, NULL), 0);
	ck_assert_uint_eq(layout.elements, sizes[_i].elements);
	ck_assert_uint_eq(layout.bytes, sizes[_i].bytes);
	struct kp_tensor tensor = kp_layout_tensor(&layout, NULL);
	ck_assert_int_eq(kp_tensor_span(&tensor, &first, &end, NULL), 0);
	ck_assert_int_eq(first, 0);
	ck_assert_int_eq(end, (int64_t)sizes[_i].bytes);
}
END_TEST

static const struct {
	int64_t m, k;
	const char *format, *code;
} refused[] = {
	{INT64_C(1) << 40, INT64_C(1) << 40, "i8", "too_large"},
	{INT64_C(1) << 31, INT64_C(1) << 31, "f16", "too_large"},
	{INT64_C(1) << 30, INT64_C(1) << 30, "f64", "too_large"},
	{-1, 3, "f32", "missing_dim"},
	{3, 3, "f32/kn", "unsupported_format"},
	{3, 3, "f32/m", "unsupported_format"},
	{3, 3, "f32/mm", "unsupported_format"},
	{3, 3, "f32/mkk", "unsupported_format"},
};

START_TEST(k01_a_size_that_overflows_is_refused_and_named)
{
	struct kp_shape s = shape(refused[_i].m, refused[_i].k);
	struct kp_format f = format(refused[_i].format);
	struct kp_layout layout;
	struct kp_diag diag;
	ck_assert_int_eq(kp_layout_of_role(&matrix, &s, &f, &layout, &diag), -1);
	ck_assert_str_eq(diag.code, refused[_i].code);
	ck_assert_str_eq(diag.object, "a");
}
END_TEST

static const char *const without_block[] = {
	"mxfp4:u8@u8:block:rows:block=dynamic",
	"scaled-fp8:f8_e4m3fn@f32:block:block=dynamic",
	"scaled-fp8:f8_e5m2/km@f32:block:block=dynamic",
};

START_TEST(ad04_blocks_of_no_size_are_refused)
{
	struct kp_shape s = shape(64, 64);
	struct kp_format f = format(without_block[_i]);
	struct kp_layout layout;
	struct kp_diag diag;
	ck_assert_int_eq(kp_layout_of_role(&matrix, &s, &f, &layout, &diag), -1);
	ck_assert_str_eq(diag.code, "unsupported_block");
	ck_assert_ptr_nonnull(strstr(diag.message, "block=1x32"));
}
END_TEST

START_TEST(what_scales_a_format_is_a_role_of_its_own)
{
	struct kp_shape s = shape(4, 6);
	struct kp_format f = format("scaled-fp8:f8_e4m3fn@f32:block:block=1x32");
	struct kp_layout layout;
	ck_assert_int_eq(kp_layout_of_role(&matrix, &s, &f, &layout, NULL), 0);
	ck_assert_uint_eq(layout.bytes, 24);
}
END_TEST

static const struct kp_factor four_dims[] = {{"b", 0}, {"h", 0}, {"hkv", 0}, {"d", 0}};
static const struct kp_role heads = {.name = "q", .rank = 4, .dims = four_dims};

/* b 2, h 3, hkv 5, d 7. */
static const struct {
	const char *format;
	int64_t strides[4];
} ordered[] = {
	{"f32", {105, 35, 7, 1}},
	{"f32/bhhkvd", {105, 35, 7, 1}},
	{"f32/dhkvhb", {1, 2, 6, 30}},
	{"bf16/DHBHKV", {5, 10, 1, 30}},
	{"f32/hkvbhd", {21, 7, 42, 1}},
};

START_TEST(ad05_a_format_that_names_the_dims_lies_in_their_order)
{
	struct kp_format f = format(ordered[_i].format);
	struct kp_layout layout;
	struct kp_shape s = {0};
	kp_shape_set(&s, "b", 2);
	kp_shape_set(&s, "h", 3);
	kp_shape_set(&s, "hkv", 5);
	kp_shape_set(&s, "d", 7);
	ck_assert_int_eq(kp_layout_of_role(&heads, &s, &f, &layout, NULL), 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(layout.strides[i], ordered[_i].strides[i]);
	ck_assert_uint_eq(layout.bytes, 210 * kp_element_bytes(f.element));
}
END_TEST

START_TEST(rows_with_steps_and_gaps_end_with_their_last_element)
{
	struct kp_shape s = shape(4, 6);
	struct kp_format f = format("f32");
	struct kp_layout layout;
	ck_assert_int_eq(kp_layout_of_role(&matrix, &s, &f, &layout, NULL), 0);
	const struct kp_arrangement columns = {.order = {1, 0}, .step = 2, .gap = 3};
	ck_assert_int_eq(kp_layout_arrange(&layout, &columns, NULL), 0);
	ck_assert_int_eq(layout.strides[0], 2);
	ck_assert_int_eq(layout.strides[1], 11);
	ck_assert_uint_eq(layout.elements, 24);
	ck_assert_uint_eq(layout.bytes, (size_t)(5 * 11 + 3 * 2 + 1) * 4);
}
END_TEST

static const struct {
	int64_t shape[3], strides[3];
	int64_t first, end; /* of i32; end -1: too large, -2: bad extent */
} spans[] = {
	{{2, 3, 4}, {12, 4, 1}, 0, 96},
	{{2, 3, 4}, {-12, 4, 1}, -48, 48},
	{{2, 3, 4}, {0, 0, 0}, 0, 4},
	{{2, 0, 4}, {INT64_MAX, INT64_MAX, INT64_MAX}, 0, 0},
	{{2, 3, 4}, {INT64_MAX, INT64_MAX, 1}, 0, -1},
	{{1, 1, 1}, {INT64_MAX, INT64_MIN, 9}, 0, 4},
	{{INT64_MAX, INT64_MAX, 3}, {0, 0, 0}, 0, -1},
	{{2, 1, 1}, {INT64_MAX / 4, 0, 0}, 0, -1},
	{{2, -1, 1}, {1, 1, 1}, 0, -2},
};

START_TEST(the_span_of_any_strides_is_exact_or_refused)
{
	int64_t extents[3];
	int64_t strides[3];
	int64_t first = -7;
	int64_t end = -7;
	struct kp_diag diag;
	memcpy(extents, spans[_i].shape, sizeof(extents));
	memcpy(strides, spans[_i].strides, sizeof(strides));
	struct kp_tensor tensor = {.ndim = 3,
		.dtype = {KP_CODE_INT, 32, 1},
		.shape = extents,
		.strides = strides};
	int rc = kp_tensor_span(&tensor, &first, &end, &diag);
	if (spans[_i].end < 0) {
		ck_assert_int_eq(rc, -1);
		ck_assert_str_eq(
			diag.code, spans[_i].end == -1 ? "too_large" : "bad_extent");
		ck_assert_int_eq(first, -7);
		return;
	}
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(first, spans[_i].first);
	ck_assert_int_eq(end, spans[_i].end);
}
END_TEST

START_TEST(a_walk_visits_each_element_once_in_row_major_order)
{
	int32_t data[64];
	int64_t extents[] = {2, 3, 2};
	int64_t strides[] = {-1, 4, 20};
	struct kp_tensor tensor = {.data = data + 1,
		.ndim = 3,
		.dtype = {KP_CODE_INT, 32, 1},
		.shape = extents,
		.strides = strides};
	struct kp_walk walk = kp_walk_start(&tensor);
	size_t n = 0;
	for (int64_t i = 0; i < 2; i++)
		for (int64_t j = 0; j < 3; j++)
			for (int64_t k = 0; k < 2; k++) {
				ck_assert(kp_walk_next(&walk));
				ck_assert_uint_eq(walk.index, n++);
				ck_assert_ptr_eq(walk.at, data + 1 - i + 4 * j + 20 * k);
			}
	ck_assert(!kp_walk_next(&walk));
}
END_TEST

START_TEST(a_walk_over_nothing_ends_at_once_and_over_a_scalar_after_one)
{
	float value = 3;
	int64_t extents[] = {3, 0};
	int64_t strides[] = {0, 1};
	struct kp_tensor empty = {.data = &value,
		.ndim = 2,
		.dtype = {KP_CODE_FLOAT, 32, 1},
		.shape = extents,
		.strides = strides};
	struct kp_walk walk = kp_walk_start(&empty);
	ck_assert(!kp_walk_next(&walk));
	empty.data = NULL;
	walk = kp_walk_start(&empty);
	ck_assert(!kp_walk_next(&walk));
	struct kp_tensor single = {
		.data = &value, .ndim = 0, .dtype = {KP_CODE_FLOAT, 32, 1}};
	walk = kp_walk_start(&single);
	ck_assert(kp_walk_next(&walk));
	ck_assert_ptr_eq(walk.at, &value);
	ck_assert(!kp_walk_next(&walk));
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
	Suite *suite = suite_create("tensor");
	TCase *tcase = tcase_create("tensor");
	tcase_add_loop_test(
		tcase, a_role_in_a_shape_has_exactly_these_bytes, 0, COUNT(sizes));
	tcase_add_loop_test(
		tcase, k01_a_size_that_overflows_is_refused_and_named, 0, COUNT(refused));
	tcase_add_loop_test(
		tcase, ad04_blocks_of_no_size_are_refused, 0, COUNT(without_block));
	tcase_add_test(tcase, what_scales_a_format_is_a_role_of_its_own);
	tcase_add_loop_test(tcase, ad05_a_format_that_names_the_dims_lies_in_their_order,
		0, COUNT(ordered));
	tcase_add_test(tcase, rows_with_steps_and_gaps_end_with_their_last_element);
	tcase_add_loop_test(
		tcase, the_span_of_any_strides_is_exact_or_refused, 0, COUNT(spans));
	tcase_add_test(tcase, a_walk_visits_each_element_once_in_row_major_order);
	tcase_add_test(
		tcase, a_walk_over_nothing_ends_at_once_and_over_a_scalar_after_one);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
