/* SPDX-License-Identifier: MIT */
/* Scratch memory and threads of a measured kernel are what was asked for. */
#include "daemon/worker/measure_host.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct measure_host host;

static void host_of(unsigned threads)
{
	struct kp_diag diag;

	ck_assert_msg(measure_host_init(&host, threads, &diag) == 0, "%s", diag.message);
}

static unsigned char *scratch(size_t bytes, size_t align)
{
	return host.host.scratch(&host, bytes, align);
}

START_TEST(address_is_aligned_however_far)
{
	host_of(1);
	for (size_t align = 1; align <= 16 << 20; align *= 2) {
		unsigned char *at = scratch(3, align);
		ck_assert_ptr_nonnull(at);
		ck_assert_uint_eq((uintptr_t)at & (align - 1), 0);
		memset(at, 1, 3);
	}
	measure_host_finish(&host);
}
END_TEST

START_TEST(pieces_do_not_overlap)
{
	host_of(1);
	unsigned char *a = scratch(100, 64), *b = scratch(100, 64), *c = scratch(1, 1);
	ck_assert(b >= a + 100);
	ck_assert(c >= b + 100);
	measure_host_finish(&host);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
	host_of(1);
	ck_assert_ptr_null(scratch(SIZE_MAX, 1));
	ck_assert_ptr_null(scratch(SIZE_MAX - 5, 64));
	ck_assert_ptr_null(scratch(1, (size_t)1 << 63));
	ck_assert_ptr_null(scratch(1, 0));
	ck_assert_ptr_null(scratch(1, 3));
	ck_assert_ptr_nonnull(scratch(1, 1));
	measure_host_finish(&host);
}
END_TEST

START_TEST(next_call_has_all_of_it_again)
{
	host_of(1);
	unsigned char *first = scratch(host.size, 1);
	ck_assert_ptr_nonnull(first);
	ck_assert_ptr_null(scratch(1, 1));
	measure_host_reset(&host);
	ck_assert_ptr_eq(scratch(1, 1), first);
	measure_host_finish(&host);
}
END_TEST

static int take_page(void *arg, uint64_t i)
{
	((unsigned char **)arg)[i] = scratch(4096, 64);
	return KP_OK;
}

static int by_address(const void *a, const void *b)
{
	const unsigned char *left = *(unsigned char *const *)a;
	const unsigned char *right = *(unsigned char *const *)b;

	return (left > right) - (left < right);
}

START_TEST(tasks_get_pieces_of_their_own)
{
	enum { PIECES = 500 };
	unsigned char *pieces[PIECES];

	host_of(4);
	ck_assert_int_eq(host.host.parallel_for(&host, PIECES, take_page, pieces), KP_OK);
	qsort(pieces, PIECES, sizeof(pieces[0]), by_address);
	ck_assert_ptr_nonnull(pieces[0]);
	for (int i = 1; i < PIECES; i++)
		ck_assert(pieces[i] >= pieces[i - 1] + 4096);
	measure_host_finish(&host);
}
END_TEST

static int fail_at_7_and_3(void *arg, uint64_t i)
{
	(void)arg;
	return i == 3 ? KP_NO_MEMORY : i == 7 ? KP_RUNTIME : KP_OK;
}

START_TEST(k06_kernel_hears_of_the_lowest_index_that_failed)
{
	static const unsigned threads[] = {1, 2, 4};

	host_of(threads[_i]);
	for (int round = 0; round < 100; round++)
		ck_assert_int_eq(host.host.parallel_for(&host, 9, fail_at_7_and_3, NULL),
			KP_NO_MEMORY);
	measure_host_finish(&host);
}
END_TEST

START_TEST(number_of_threads_that_is_none_is_refused)
{
	struct kp_diag diag;

	ck_assert_int_eq(measure_host_init(&host, 0, &diag), -1);
	ck_assert_str_eq(diag.code, "bad_threads");
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
	tcase_add_test(t, tasks_get_pieces_of_their_own);
	tcase_add_loop_test(t, k06_kernel_hears_of_the_lowest_index_that_failed, 0, 3);
	tcase_add_test(t, number_of_threads_that_is_none_is_refused);
	suite_add_tcase(s, t);
	return suite_run(s);
}
