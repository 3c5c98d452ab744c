/* SPDX-License-Identifier: MIT */
/* What lies beyond a fence cannot be touched without being seen. */
#include "daemon/worker/fence.h"
#include "tests/support/suite.h"

#include <check.h>
#include <jansson.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct fences fences;
static struct kp_diag diag;

static struct fence *add(const char *name, size_t bytes, size_t align)
{
	struct fence *fence = fence_add(&fences, name, bytes, align, &diag);
	ck_assert_msg(fence != NULL, "%s", diag.message);
	return fence;
}

/* Touches a byte in a child that is watched; what it told, NULL for nothing. */
static json_t *touch(struct fence *fence, ptrdiff_t offset, bool write_it)
{
	int ends[2], status;
	char text[512] = "";
	ck_assert_int_eq(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		volatile char *at = (volatile char *)fence->data + offset;
		fences_watch(&fences, ends[1], "");
		if (write_it)
			*at = 1;
		else
			(void)*at;
		_exit(0);
	}
	close(ends[1]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ssize_t n = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	if (WIFEXITED(status)) {
		ck_assert_int_eq(n, 0);
		return NULL;
	}
	ck_assert_int_eq(WTERMSIG(status), SIGSEGV);
	json_t *line = json_loads(text, 0, NULL);
	ck_assert_msg(line != NULL, "%s", text);
	return line;
}

static void expect(json_t *line, const char *name, const char *side, json_int_t distance)
{
	const char *told_name, *told_side;
	json_int_t told;
	ck_assert_ptr_nonnull(line);
	ck_assert_int_eq(json_unpack(line, "{s:{s:s, s:s, s:I}}", "fault", "name",
				 &told_name, "side", &told_side, "distance", &told),
		0);
	ck_assert_str_eq(told_name, name);
	ck_assert_str_eq(told_side, side);
	ck_assert_int_eq(told, distance);
	json_decref(line);
}

START_TEST(memory_is_zeroed_and_aligned)
{
	static const size_t sizes[] = {0, 1, 100, 4096, 4097, 1000000};
	static const size_t aligns[] = {1, 4, 64, 4096};
	for (size_t i = 0; i < 6; i++) {
		for (size_t k = 0; k < 4; k++) {
			struct fence *fence = add("x", sizes[i], aligns[k]);
			ck_assert_uint_eq((uintptr_t)fence->data % aligns[k], 0);
			size_t zeros = 0;
			while (zeros < sizes[i] && ((char *)fence->data)[zeros] == 0)
				zeros++;
			ck_assert_uint_eq(zeros, sizes[i]);
		}
	}
}
END_TEST

START_TEST(all_of_the_memory_can_be_used)
{
	struct fence *fence = add("x", 5000, 4);
	memset(fence->data, 1, 5000);
	ck_assert_int_eq(fences_check(&fences, &diag), 0);
}
END_TEST

START_TEST(byte_behind_faults_and_is_told)
{
	expect(touch(add("c", 1000, 4), 1000, true), "c", "behind", 1);
}
END_TEST

START_TEST(read_behind_faults_too)
{
	expect(touch(add("c", 1000, 4), 1000 + 70, false), "c", "behind", 71);
}
END_TEST

START_TEST(byte_behind_nothing_faults)
{
	expect(touch(add("c", 0, 1), 0, true), "c", "behind", 1);
}
END_TEST

START_TEST(far_before_faults_and_is_told)
{
	expect(touch(add("c", 4096, 1), -100000, true), "c", "before", 100000);
}
END_TEST

START_TEST(closed_memory_can_be_read)
{
	struct fence *fence = add("a", 64, 4);
	fence_close(fence);
	ck_assert_ptr_null(touch(fence, 10, false));
}
END_TEST

START_TEST(write_to_closed_memory_is_told)
{
	struct fence *fence = add("a", 64, 4);
	fence_close(fence);
	expect(touch(fence, 10, true), "a", "inside", 10);
}
END_TEST

START_TEST(fault_elsewhere_dies_and_tells_nothing)
{
	struct fence *fence = add("a", 64, 4);
	int ends[2], status;
	char byte;
	(void)fence;
	ck_assert_int_eq(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		fences_watch(&fences, ends[1], "");
		volatile int *volatile nowhere = (volatile int *)8;
		*nowhere = 1;
		_exit(0);
	}
	close(ends[1]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(WTERMSIG(status), SIGSEGV);
	ck_assert_int_eq(read(ends[0], &byte, 1), 0);
	close(ends[0]);
}
END_TEST

static void expect_spoiled(struct fence *fence, ptrdiff_t offset, const char *text)
{
	((char *)fence->data)[offset] = 1;
	ck_assert_int_eq(fences_check(&fences, &diag), -1);
	ck_assert_str_eq(diag.code, "out_of_bounds");
	ck_assert_msg(strstr(diag.message, text) != NULL, "%s", diag.message);
}

START_TEST(write_right_before_is_found_afterwards)
{
	expect_spoiled(add("c", 100, 4), -1, "before c (1 bytes");
}
END_TEST

START_TEST(write_some_before_is_found_afterwards)
{
	expect_spoiled(add("c", 100, 4), -3000, "before c (3000 bytes");
}
END_TEST

START_TEST(write_into_the_gap_of_an_alignment_is_found_afterwards)
{
	expect_spoiled(add("w", 100, 64), 100, "behind w (1 bytes");
}
END_TEST

START_TEST(first_of_several_that_is_spoiled_is_named)
{
	(void)add("a", 100, 4);
	(void)add("b", 100, 4);
	expect_spoiled(add("c", 100, 4), -1, "before c");
}
END_TEST

START_TEST(too_much_memory_is_said)
{
	ck_assert_ptr_null(fence_add(&fences, "c", SIZE_MAX - 100, 4, &diag));
	ck_assert_str_eq(diag.code, "too_large");
	ck_assert_ptr_null(fence_add(&fences, "c", SIZE_MAX / 4, 4, &diag));
	ck_assert_str_eq(diag.code, "no_memory");
}
END_TEST

START_TEST(too_many_pieces_are_said)
{
	for (int i = 0; i < FENCES; i++)
		(void)add("x", 1, 1);
	ck_assert_ptr_null(fence_add(&fences, "x", 1, 1, &diag));
	ck_assert_str_eq(diag.code, "too_large");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("fence");
	TCase *t = tcase_create("fence");
	tcase_add_test(t, memory_is_zeroed_and_aligned);
	tcase_add_test(t, all_of_the_memory_can_be_used);
	tcase_add_test(t, byte_behind_faults_and_is_told);
	tcase_add_test(t, read_behind_faults_too);
	tcase_add_test(t, byte_behind_nothing_faults);
	tcase_add_test(t, far_before_faults_and_is_told);
	tcase_add_test(t, closed_memory_can_be_read);
	tcase_add_test(t, write_to_closed_memory_is_told);
	tcase_add_test(t, fault_elsewhere_dies_and_tells_nothing);
	tcase_add_test(t, write_right_before_is_found_afterwards);
	tcase_add_test(t, write_some_before_is_found_afterwards);
	tcase_add_test(t, write_into_the_gap_of_an_alignment_is_found_afterwards);
	tcase_add_test(t, first_of_several_that_is_spoiled_is_named);
	tcase_add_test(t, too_much_memory_is_said);
	tcase_add_test(t, too_many_pieces_are_said);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return suite_run(suite());
}
