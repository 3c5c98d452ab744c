/* SPDX-License-Identifier: MIT */
/* Values of every dtype are stored to the nearest and read back. */
#include "lib/family/element.h"
#include "tests/support/suite.h"

#include <check.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static uint64_t bits_of(enum kp_element element, double value)
{
	uint64_t bits = 0;
	kp_element_store(element, &bits, value);
	return bits;
}

static const struct {
	enum kp_element element;
	double value;
	uint64_t bits;
} known[] = {
	{KP_F64, 1.5, 0x3ff8000000000000},
	{KP_F32, 0.1, 0x3dcccccd},
	{KP_F32, 1e39, 0x7f800000},
	{KP_F16, 0, 0},
	{KP_F16, -0.0, 0x8000},
	{KP_F16, 1, 0x3c00},
	{KP_F16, -2, 0xc000},
	{KP_F16, 65504, 0x7bff},
	{KP_F16, 65519, 0x7bff},
	{KP_F16, 65520, 0x7c00},
	{KP_F16, INFINITY, 0x7c00},
	{KP_F16, 0x1p-14, 0x0400},
	{KP_F16, 0x1p-24, 0x0001},
	{KP_F16, 0x1p-25, 0x0000},
	{KP_F16, 0x1.8p-25, 0x0001},
	{KP_F16, 1 + 0x1p-11, 0x3c00}, /* a tie, to even */
	{KP_F16, 1 + 0x3p-11, 0x3c02},
	{KP_F16, 2047.9999, 0x6800}, /* rounds into the next exponent */
	{KP_BF16, 1, 0x3f80},
	{KP_BF16, 1 + 0x1p-8, 0x3f80},
	{KP_BF16, 1 + 0x1.8p-8, 0x3f81},
	{KP_BF16, 3.3895313892515355e38, 0x7f7f},
	{KP_BF16, -1e39, 0xff80},
	{KP_BF16, 0x1p-133, 0x0001},
	{KP_F8_E4M3FN, 1, 0x38},
	{KP_F8_E4M3FN, 448, 0x7e},
	{KP_F8_E4M3FN, 464, 0x7e},
	{KP_F8_E4M3FN, 465, 0x7f},
	{KP_F8_E4M3FN, -INFINITY, 0xff},
	{KP_F8_E4M3FN, 0x1p-9, 0x01},
	{KP_F8_E5M2, 1, 0x3c},
	{KP_F8_E5M2, 57344, 0x7b},
	{KP_F8_E5M2, 1e9, 0x7c},
	{KP_I8, 127.4, 0x7f},
	{KP_I8, 1e9, 0x7f},
	{KP_I8, -1e9, 0x80},
	{KP_I8, -2.5, 0xfe},
	{KP_I32, -1, 0xffffffff},
	{KP_I32, NAN, 0},
	{KP_I64, 1e300, 0x7fffffffffffffff},
	{KP_I64, -1e300, 0x8000000000000000},
	{KP_U8, 255.5, 0xff},
	{KP_U8, -3, 0},
	{KP_U16, 65534.4, 0xfffe},
	{KP_U64, 1e300, 0xffffffffffffffff},
	{KP_BOOL, 0.001, 1},
	{KP_BOOL, 0, 0},
};

START_TEST(a_value_has_the_bits_of_its_dtype)
{
	uint64_t bits = bits_of(known[_i].element, known[_i].value);
	ck_assert_msg(bits == known[_i].bits, "%s of %g is %#lx, not %#lx",
		kp_element_name(known[_i].element), known[_i].value, (unsigned long)bits,
		(unsigned long)known[_i].bits);
}
END_TEST

/* Every pattern of a small float is read and stored back as it was. */
static const enum kp_element small[] = {KP_F16, KP_BF16, KP_F8_E4M3FN, KP_F8_E5M2};

START_TEST(every_pattern_of_a_small_float_comes_back)
{
	unsigned patterns = 1u << (kp_element_bytes(small[_i]) * 8);
	for (uint32_t bits = 0; bits < patterns; bits++) {
		double value = kp_element_load(small[_i], &bits);
		uint64_t back = bits_of(small[_i], value);
		if (isnan(value))
			ck_assert(isnan(kp_element_load(small[_i], &back)));
		else
			ck_assert_msg(back == bits, "%#x is %g is %#lx", bits, value,
				(unsigned long)back);
	}
}
END_TEST

START_TEST(a_small_float_is_the_nearest_of_its_neighbours)
{
	for (uint32_t bits = 1; bits < 0x78; bits++) {
		uint32_t above = bits + 1;
		double a = kp_element_load(small[_i], &bits);
		double b = kp_element_load(small[_i], &above);
		ck_assert_uint_eq(bits_of(small[_i], a + (b - a) * 0.49), bits);
		ck_assert_uint_eq(bits_of(small[_i], a + (b - a) * 0.51), above);
		ck_assert_uint_eq(
			bits_of(small[_i], (a + b) / 2), bits % 2 ? above : bits);
	}
}
END_TEST

START_TEST(a_dtype_and_its_name_belong_together)
{
	for (int i = 0; i < KP_ELEMENTS; i++) {
		enum kp_element back;
		ck_assert(
			kp_element_of_dtype(kp_element_dtype((enum kp_element)i), &back));
		ck_assert_int_eq((int)back, i);
	}
	enum kp_element none;
	ck_assert(!kp_element_of_dtype((struct kp_dtype){KP_CODE_FLOAT, 32, 4}, &none));
	ck_assert(!kp_element_of_dtype((struct kp_dtype){KP_CODE_FLOAT, 24, 1}, &none));
	ck_assert(!kp_element_of_dtype((struct kp_dtype){3, 64, 1}, &none));
}
END_TEST

START_TEST(only_floats_are_real)
{
	ck_assert(kp_element_is_real(KP_F64));
	ck_assert(kp_element_is_real(KP_F8_E5M2));
	ck_assert(!kp_element_is_real(KP_I8));
	ck_assert(!kp_element_is_real(KP_BOOL));
}
END_TEST

START_TEST(an_element_need_not_be_aligned)
{
	unsigned char bytes[16];
	for (int offset = 0; offset < 8; offset++) {
		kp_element_store(KP_F64, bytes + offset, 2.25);
		ck_assert_double_eq(kp_element_load(KP_F64, bytes + offset), 2.25);
		kp_element_store(KP_I64, bytes + offset, -7);
		ck_assert_double_eq(kp_element_load(KP_I64, bytes + offset), -7);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("element");
	TCase *tcase = tcase_create("element");
	tcase_add_loop_test(tcase, a_value_has_the_bits_of_its_dtype, 0,
		(int)(sizeof(known) / sizeof(known[0])));
	tcase_add_loop_test(tcase, every_pattern_of_a_small_float_comes_back, 0, 4);
	tcase_add_loop_test(tcase, a_small_float_is_the_nearest_of_its_neighbours, 0, 4);
	tcase_add_test(tcase, a_dtype_and_its_name_belong_together);
	tcase_add_test(tcase, only_floats_are_real);
	tcase_add_test(tcase, an_element_need_not_be_aligned);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
