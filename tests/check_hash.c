/* SPDX-License-Identifier: MIT */
/* The quick hash tells texts apart that differ a little. */
#include "lib/base/hash.h"

#include <check.h>

#include "tests/support/suite.h"

/* Each bit of a text that is no multiple of a word counts, and so does its length. */
START_TEST(a_hash_of_words_tells_each_bit)
{
	unsigned char bytes[32] = {0};
	uint64_t before = kp_hash_words(KP_HASH_START, bytes, (size_t)_i);

	for (int bit = 0; bit < 8 * _i; bit++) {
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		ck_assert_uint_ne(
			kp_hash_words(KP_HASH_START, bytes, (size_t)_i), before);
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	ck_assert_uint_ne(kp_hash_words(KP_HASH_START, bytes, (size_t)_i + 1), before);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hash");
	TCase *tcase = tcase_create("hash");

	tcase_add_loop_test(tcase, a_hash_of_words_tells_each_bit, 0, 25);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
