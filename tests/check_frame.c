/* SPDX-License-Identifier: MIT */
/* Messages come out whole, however the stream is cut, and never over the limit. */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/protocol/frame.h"
#include "tests/support/suite.h"

enum { LIMIT = 1000 };

static void feed(struct kp_frame *frame, const char *bytes, size_t size)
{
	while (size > 0) {
		char *space;
		size_t room;
		struct kp_diag diag;
		ck_assert_int_eq(kp_frame_space(frame, &space, &room, &diag), 0);
		ck_assert_uint_ge(room, 4096);
		size_t n = size < room ? size : room;
		memcpy(space, bytes, n);
		kp_frame_filled(frame, n);
		bytes += n;
		size -= n;
	}
}

static void expect(struct kp_frame *frame, const char *wanted)
{
	size_t size = 999;
	const char *message = kp_frame_next(frame, &size);
	ck_assert_ptr_nonnull(message);
	ck_assert_uint_eq(size, strlen(wanted));
	ck_assert_str_eq(message, wanted);
}

static void expect_none(struct kp_frame *frame)
{
	size_t size = 999;
	ck_assert_ptr_null(kp_frame_next(frame, &size));
	ck_assert_uint_eq(size, 999);
}

static const char stream[] = "{\"a\":1}\0\0{\"b\":\"two\"}\0x";

START_TEST(t71_every_cut_into_three_gives_the_same_messages)
{
	size_t whole = sizeof(stream);
	for (size_t i = 0; i <= whole; i++)
		for (size_t j = i; j <= whole; j++) {
			struct kp_frame frame = {.limit = LIMIT};
			feed(&frame, stream, i);
			feed(&frame, stream + i, j - i);
			feed(&frame, stream + j, whole - j);
			expect(&frame, "{\"a\":1}");
			expect(&frame, "");
			expect(&frame, "{\"b\":\"two\"}");
			expect(&frame, "x");
			expect_none(&frame);
			kp_frame_finish(&frame);
		}
}
END_TEST

START_TEST(t71_one_byte_at_a_time_gives_each_message_at_its_nul)
{
	struct kp_frame frame = {.limit = LIMIT};
	const char *wanted = stream;
	for (size_t i = 0; i < sizeof(stream); i++) {
		expect_none(&frame);
		feed(&frame, stream + i, 1);
		if (stream[i])
			continue;
		expect(&frame, wanted);
		wanted = stream + i + 1;
	}
	expect_none(&frame);
	kp_frame_finish(&frame);
}
END_TEST

START_TEST(t71_messages_in_one_packet_are_taken_one_by_one)
{
	struct kp_frame frame = {.limit = LIMIT};
	feed(&frame, "one\0two\0thr", 11);
	expect(&frame, "one");
	expect(&frame, "two");
	expect_none(&frame);
	feed(&frame, "ee", 3);
	expect(&frame, "three");
	expect_none(&frame);
	kp_frame_finish(&frame);
}
END_TEST

START_TEST(t71_a_message_stays_valid_until_room_is_asked_for)
{
	struct kp_frame frame = {.limit = LIMIT};
	size_t size;
	feed(&frame, "first\0second", 13);
	const char *first = kp_frame_next(&frame, &size);
	const char *second = kp_frame_next(&frame, &size);
	ck_assert_str_eq(first, "first");
	ck_assert_str_eq(second, "second");
	kp_frame_finish(&frame);
}
END_TEST

static char *letters(size_t count)
{
	char *text = malloc(count + 1);
	ck_assert_ptr_nonnull(text);
	memset(text, 'x', count);
	text[count] = '\0';
	return text;
}

START_TEST(t71_a_message_of_just_the_limit_passes)
{
	static const size_t limits[] = {1, 7, 4095, 4096, 4097, 70000};
	size_t limit = limits[_i];
	struct kp_frame frame = {.limit = limit};
	char *text = letters(limit);
	for (int round = 0; round < 3; round++) {
		feed(&frame, text, limit);
		expect_none(&frame);
		feed(&frame, "", 1);
		expect(&frame, text);
	}
	free(text);
	kp_frame_finish(&frame);
}
END_TEST

static void expect_too_large(struct kp_frame *frame, const char *limit)
{
	char *space = NULL;
	size_t room = 7;
	struct kp_diag diag;
	expect_none(frame);
	ck_assert_int_eq(kp_frame_space(frame, &space, &room, &diag), -1);
	ck_assert_str_eq(diag.code, "message_too_large");
	ck_assert_ptr_nonnull(strstr(diag.message, limit));
	ck_assert_ptr_null(space);
	ck_assert_uint_eq(room, 7);
}

START_TEST(t71_a_message_over_the_limit_without_an_end_is_refused)
{
	struct kp_frame frame = {.limit = 5};
	feed(&frame, "123456", 6);
	expect_too_large(&frame, "5");
	kp_frame_finish(&frame);
}
END_TEST

START_TEST(t71_a_message_over_the_limit_with_its_end_is_refused)
{
	struct kp_frame frame = {.limit = 5};
	feed(&frame, "123456", 7);
	expect_too_large(&frame, "5");
	expect_too_large(&frame, "5");
	kp_frame_finish(&frame);
}
END_TEST

START_TEST(t71_messages_before_one_over_the_limit_are_handed_out)
{
	struct kp_frame frame = {.limit = 5};
	feed(&frame, "12345\0ok\0toolong", 17);
	expect(&frame, "12345");
	expect(&frame, "ok");
	expect_too_large(&frame, "5");
	kp_frame_finish(&frame);
}
END_TEST

START_TEST(t71_an_endless_message_takes_no_more_room_than_the_limit)
{
	struct kp_frame frame = {.limit = 100000};
	char *space;
	size_t room, fed = 0;
	while (kp_frame_space(&frame, &space, &room, NULL) == 0) {
		size_t n = room < 4096 ? room : 4096;
		memset(space, 'x', n);
		kp_frame_filled(&frame, n);
		fed += n;
	}
	ck_assert_uint_gt(fed, 100000);
	ck_assert_uint_le(frame.room, 100000 + 4096);
	kp_frame_finish(&frame);
}
END_TEST

START_TEST(a_large_message_gives_its_memory_back)
{
	struct kp_frame frame = {.limit = 1 << 20};
	char *text = letters(1 << 20);
	feed(&frame, text, (1 << 20) + 1);
	expect(&frame, text);
	feed(&frame, "small", 6);
	expect(&frame, "small");
	ck_assert_uint_le(frame.room, 64 << 10);
	free(text);
	kp_frame_finish(&frame);
}
END_TEST

START_TEST(finishing_twice_or_unused_is_harmless)
{
	struct kp_frame frame = {.limit = 3};
	kp_frame_finish(&frame);
	feed(&frame, "a", 2);
	kp_frame_finish(&frame);
	kp_frame_finish(&frame);
	ck_assert_uint_eq(frame.limit, 3);
	feed(&frame, "b", 2);
	expect(&frame, "b");
	kp_frame_finish(&frame);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("frame");
	TCase *cuts = tcase_create("frame");
	tcase_add_test(cuts, t71_every_cut_into_three_gives_the_same_messages);
	tcase_add_test(cuts, t71_one_byte_at_a_time_gives_each_message_at_its_nul);
	tcase_add_test(cuts, t71_messages_in_one_packet_are_taken_one_by_one);
	tcase_add_test(cuts, t71_a_message_stays_valid_until_room_is_asked_for);
	tcase_add_loop_test(cuts, t71_a_message_of_just_the_limit_passes, 0, 6);
	tcase_add_test(cuts, t71_a_message_over_the_limit_without_an_end_is_refused);
	tcase_add_test(cuts, t71_a_message_over_the_limit_with_its_end_is_refused);
	tcase_add_test(cuts, t71_messages_before_one_over_the_limit_are_handed_out);
	tcase_add_test(cuts, t71_an_endless_message_takes_no_more_room_than_the_limit);
	tcase_add_test(cuts, a_large_message_gives_its_memory_back);
	tcase_add_test(cuts, finishing_twice_or_unused_is_harmless);
	suite_add_tcase(suite, cuts);
	return suite_run(suite);
}
