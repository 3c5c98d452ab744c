/* SPDX-License-Identifier: MIT */
/* How the reference reads and rounds bf16, bit by bit. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/family/element.h"
#include "tests/support/guarded.h"
#include "tests/support/subject.h"
#include "tests/support/suite.h"

enum { HALVES = 1 << 16 };

/* The element's 16 bits. */
static uint16_t bits_of(const struct guarded *guarded, int64_t i)
{
	uint16_t bits;

	memcpy(&bits, guarded_at(guarded, i), sizeof(bits));
	return bits;
}

START_TEST(square_of_every_bf16_is_rounded_to_nearest_even)
{
	const int64_t n = HALVES;
	struct subject subject;
	struct guarded x, y;
	struct arguments arguments = {.roles = {&x, &y}, .n_roles = 2};

	ck_assert(subject_open(&subject, "reference", "elementwise_square"));
	guarded_init(&x, KP_CODE_BFLOAT, GUARDED_ROWS, 1, &n);
	guarded_init(&y, KP_CODE_BFLOAT, GUARDED_ROWS, 1, &n);
	for (uint32_t i = 0; i < HALVES; i++) {
		uint16_t bits = (uint16_t)i;
		memcpy(guarded_at(&x, i), &bits, sizeof(bits));
	}
	ck_assert_int_eq(subject_run(&subject, &arguments), KP_OK);
	for (int64_t i = 0; i < HALVES; i++) {
		double value = kp_element_load(KP_BF16, guarded_at(&x, i));
		uint16_t expected;

		if (isnan(value)) {
			ck_assert_msg(isnan(guarded_get(&y, i)), "%x", (unsigned)i);
			continue;
		}
		kp_element_store(KP_BF16, &expected, value * value);
		ck_assert_msg(bits_of(&y, i) == expected, "%x: %x, not %x", (unsigned)i,
			bits_of(&y, i), expected);
	}
	guarded_finish(&x);
	guarded_finish(&y);
	subject_close(&subject);
}
END_TEST

/* A value that a kernel makes as a f32 x 1 product, and what bf16 makes of it. */
static const struct rounding {
	float value;
	uint16_t bits;
} roundings[] = {
	{1.0f, 0x3f80},
	{0x1.01p0f, 0x3f80},	 /* a tie, to the even one below */
	{0x1.03p0f, 0x3f82},	 /* a tie, to the even one above */
	{0x1.010002p0f, 0x3f81}, /* just beyond a tie */
	{0x1.00fffep0f, 0x3f80}, /* just below one */
	{-0x1.03p0f, 0xbf82},
	{-0.0f, 0x8000},
	{0x1.fffffep127f, 0x7f80}, /* the largest float is beyond the largest bf16 */
	{0x1.fep127f, 0x7f7f},
	{0x1p-133f, 0x0001}, /* the smallest */
	{0x1p-134f, 0x0000}, /* half of it: a tie, to 0 */
	{0x1.0002p-134f, 0x0001},
	{INFINITY, 0x7f80},
	{-INFINITY, 0xff80},
};
enum { ROUNDINGS = sizeof(roundings) / sizeof(roundings[0]) };

/* m x 1 x 1, its three types as asked for; every element of c is a's. */
static int multiply(struct guarded *a, struct guarded *c, uint8_t type_a, uint8_t type_c)
{
	struct subject subject;
	struct guarded one;
	struct arguments arguments = {.roles = {a, &one, c}, .n_roles = 3};
	int status;

	ck_assert(subject_open(&subject, "reference", "gemm_mm"));
	guarded_init(a, type_a, GUARDED_ROWS, 2, (int64_t[]){ROUNDINGS, 1});
	guarded_init(&one, KP_CODE_FLOAT, GUARDED_ROWS, 2, (int64_t[]){1, 1});
	guarded_init(c, type_c, GUARDED_ROWS, 2, (int64_t[]){ROUNDINGS, 1});
	guarded_set(&one, 0, 1);
	for (int i = 0; i < ROUNDINGS; i++)
		guarded_set(a, i, roundings[i].value);
	status = subject_run(&subject, &arguments);
	guarded_finish(&one);
	subject_close(&subject);
	return status;
}

START_TEST(stores_of_bf16_round_to_nearest_even)
{
	struct guarded a, c;

	ck_assert_int_eq(multiply(&a, &c, KP_CODE_FLOAT, KP_CODE_BFLOAT), KP_OK);
	for (int i = 0; i < ROUNDINGS; i++) {
		uint16_t bits = roundings[i].bits;

		if (bits == 0x8000) /* summed to 0 from 0 */
			bits = 0;
		ck_assert_msg(bits_of(&c, i) == bits, "%a: %x, not %x",
			(double)roundings[i].value, bits_of(&c, i), bits);
	}
	guarded_finish(&a);
	guarded_finish(&c);
}
END_TEST

START_TEST(loads_of_bf16_are_exact)
{
	struct guarded a, c;

	ck_assert_int_eq(multiply(&a, &c, KP_CODE_BFLOAT, KP_CODE_FLOAT), KP_OK);
	for (int i = 0; i < ROUNDINGS; i++)
		ck_assert(guarded_get(&c, i) == guarded_get(&a, i));
	guarded_finish(&a);
	guarded_finish(&c);
}
END_TEST

/* What is told from infinity by low bits only must not become it. */
START_TEST(number_that_is_none_stays_none)
{
	static const uint32_t nans[] = {
		0x7fc00000, 0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff, 0x7f808000};
	enum { COUNT = sizeof(nans) / sizeof(nans[0]) };
	const int64_t n = COUNT;
	struct subject subject;
	struct guarded x, y;
	struct arguments arguments = {.roles = {&x, &y}, .n_roles = 2};

	ck_assert(subject_open(&subject, "reference", "elementwise_square"));
	guarded_init(&x, KP_CODE_FLOAT, GUARDED_ROWS, 1, &n);
	guarded_init(&y, KP_CODE_BFLOAT, GUARDED_ROWS, 1, &n);
	for (int i = 0; i < COUNT; i++)
		memcpy(guarded_at(&x, i), &nans[i], sizeof(nans[i]));
	ck_assert_int_eq(subject_run(&subject, &arguments), KP_OK);
	for (int i = 0; i < COUNT; i++)
		ck_assert(isnan(guarded_get(&y, i)));
	guarded_finish(&x);
	guarded_finish(&y);
	subject_close(&subject);
}
END_TEST

/* f16 has bf16's size, f64 and i32 have none of them. */
START_TEST(type_that_it_does_not_know_is_named)
{
	static const struct kp_dtype types[] = {{KP_CODE_FLOAT, 16, 1},
		{KP_CODE_FLOAT, 64, 1}, {KP_CODE_INT, 32, 1}, {KP_CODE_BFLOAT, 32, 1},
		{KP_CODE_FLOAT, 32, 4}};
	const int64_t n = 1;
	struct subject subject;
	struct guarded x, y;
	struct arguments arguments = {.roles = {&x, &y}, .n_roles = 2};

	ck_assert(subject_open(&subject, "reference", "elementwise_square"));
	guarded_init(&x, KP_CODE_FLOAT, GUARDED_ROWS, 1, &n);
	guarded_init(&y, KP_CODE_FLOAT, GUARDED_ROWS, 1, &n);
	x.tensor.dtype = types[_i];
	ck_assert_int_eq(subject_run(&subject, &arguments), KP_UNSUPPORTED);
	ck_assert_str_eq(subject.error.text, "x: only f32 and bf16 are supported");
	ck_assert(guarded_untouched(&y));
	guarded_finish(&x);
	guarded_finish(&y);
	subject_close(&subject);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("reference");
	TCase *t = tcase_create("bf16");

	tcase_add_test(t, square_of_every_bf16_is_rounded_to_nearest_even);
	tcase_add_test(t, stores_of_bf16_round_to_nearest_even);
	tcase_add_test(t, loads_of_bf16_are_exact);
	tcase_add_test(t, number_that_is_none_stays_none);
	tcase_add_loop_test(t, type_that_it_does_not_know_is_named, 0, 5);
	suite_add_tcase(suite, t);
	return suite_run(suite);
}
