/* SPDX-License-Identifier: MIT */
/* Scratch memory of a measured kernel is what it was asked to be. */
#include "daemon/worker/measure_host.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct measure_host host;

static unsigned char *scratch(size_t bytes, size_t align)
{
	return host.host.scratch(&host, bytes, align);
}

START_TEST(address_is_aligned_however_far)
{
	measure_host_init(&host);
	for (size_t align = 1; align <= 16 << 20; align *= 2) {
		unsigned char *at = scratch(3, align);
		ck_assert_ptr_nonnull(at);
		ck_assert_uint_eq((uintptr_t)at & (align - 1), 0);
		memset(at, 1, 3);
	}
}
END_TEST

START_TEST(pieces_do_not_overlap)
{
	measure_host_init(&host);
	unsigned char *a = scratch(100, 64), *b = scratch(100, 64), *c = scratch(1, 1);
	ck_assert(b >= a + 100);
	ck_assert(c >= b + 100);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
	measure_host_init(&host);
	ck_assert_ptr_null(scratch(SIZE_MAX, 1));
	ck_assert_ptr_null(scratch(SIZE_MAX - 5, 64));
	ck_assert_ptr_null(scratch(1, (size_t)1 << 63));
	ck_assert_ptr_null(scratch(1, 0));
	ck_assert_ptr_null(scratch(1, 3));
	ck_assert_ptr_nonnull(scratch(1, 1));
}
END_TEST

START_TEST(next_call_has_all_of_it_again)
{
	measure_host_init(&host);
	unsigned char *first = scratch(host.size, 1);
	ck_assert_ptr_nonnull(first);
	ck_assert_ptr_null(scratch(1, 1));
	measure_host_reset(&host);
	ck_assert_ptr_eq(scratch(1, 1), first);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("measure_host");
	TCase *t = tcase_create("measure_host");
	tcase_add_test(t, address_is_aligned_however_far);
	tcase_add_test(t, pieces_do_not_overlap);
	tcase_add_test(t, what_does_not_fit_is_refused);
	tcase_add_test(t, next_call_has_all_of_it_again);
	suite_add_tcase(s, t);
	return suite_run(s);
}
