/* SPDX-License-Identifier: MIT */
/* Memory that lives together: zeroed, aligned, apart, and never too much. */
#include <check.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "tests/support/suite.h"

START_TEST(pieces_are_zeroed_aligned_and_apart)
{
	enum { PIECES = 2000 };
	struct kp_arena *arena = kp_arena_new();
	unsigned char *pieces[PIECES];
	ck_assert_ptr_nonnull(arena);
	for (size_t i = 0; i < PIECES; i++) {
		size_t size = i * 37 % 300;
		pieces[i] = kp_arena_alloc(arena, size, 1);
		ck_assert_ptr_nonnull(pieces[i]);
		ck_assert_uint_eq((uintptr_t)pieces[i] % alignof(max_align_t), 0);
		for (size_t k = 0; k < size; k++)
			ck_assert_int_eq(pieces[i][k], 0);
		memset(pieces[i], (int)i, size);
	}
	for (size_t i = 0; i < PIECES; i++)
		for (size_t k = 0; k < i * 37 % 300; k++)
			ck_assert_int_eq(pieces[i][k], (unsigned char)i);
	kp_arena_free(arena);
}
END_TEST

START_TEST(piece_larger_than_a_chunk_is_whole)
{
	struct kp_arena *arena = kp_arena_new();
	char *small = kp_arena_strdup(arena, "before");
	char *large = kp_arena_alloc(arena, 1 << 20, 1);
	char *after = kp_arena_strdup(arena, "after");
	ck_assert_ptr_nonnull(large);
	memset(large, 'x', 1 << 20);
	ck_assert_str_eq(small, "before");
	ck_assert_str_eq(after, "after");
	kp_arena_free(arena);
}
END_TEST

START_TEST(none_is_not_null_and_overflow_is)
{
	struct kp_arena *arena = kp_arena_new();
	ck_assert_ptr_nonnull(kp_arena_alloc(arena, 0, 8));
	ck_assert_ptr_null(kp_arena_alloc(arena, SIZE_MAX / 2, 3));
	ck_assert_ptr_null(kp_arena_alloc(arena, SIZE_MAX, 1));
	kp_arena_free(arena);
	kp_arena_free(NULL);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("arena");
	tcase_add_test(tcase, pieces_are_zeroed_aligned_and_apart);
	tcase_add_test(tcase, piece_larger_than_a_chunk_is_whole);
	tcase_add_test(tcase, none_is_not_null_and_overflow_is);
	Suite *suite = suite_create("arena");
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
