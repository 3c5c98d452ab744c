/* SPDX-License-Identifier: MIT */
/* Messages with descriptors through a socket, from plugind's end to an application's. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/socket/outbox.h"
#include "lib/protocol/descriptors.h"
#include "tests/support/suite.h"

enum { LARGE = 4 << 20 };

static int ends[2];
static struct outbox outbox;
static struct kp_descriptors kept;

static void setup(void)
{
	outbox = (struct outbox){0};
	kept = (struct kp_descriptors){0};
	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
		0);
}

static void teardown(void)
{
	outbox_finish(&outbox);
	kp_descriptors_finish(&kept);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static char *message(char byte, size_t size)
{
	char *made = malloc(size);

	ck_assert_ptr_nonnull(made);
	memset(made, byte, size);
	return made;
}

/* A descriptor that can be told from others: a pipe with this byte in it. */
static int marked(char byte)
{
	int pipes[2];

	ck_assert_int_eq(pipe(pipes), 0);
	ck_assert_int_eq(write(pipes[1], &byte, 1), 1);
	(void)close(pipes[1]);
	return pipes[0];
}

static char mark_of(int fd)
{
	char byte = 0;

	ck_assert_int_eq(read(fd, &byte, 1), 1);
	(void)close(fd);
	return byte;
}

START_TEST(descriptors_arrive_with_their_message_and_in_order)
{
	int fds[] = {marked('x'), marked('y')};
	char space[64];

	ck_assert(outbox_add(&outbox, message('a', 5), 5, NULL, 0));
	ck_assert(outbox_add(&outbox, message('b', 5), 5, fds, 2));
	(void)close(fds[0]);
	(void)close(fds[1]);
	ck_assert_int_eq(outbox_flush(&outbox, ends[0]), 0);
	ck_assert_uint_eq(outbox.unsent, 0);
	size_t got = 0;
	while (got < 10) {
		ssize_t n = kp_descriptors_receive(&kept, ends[1], space, sizeof(space));
		ck_assert_int_gt(n, 0);
		got += (size_t)n;
	}
	ck_assert_uint_eq(kept.count, 2);
	ck_assert_int_eq(mark_of(kp_descriptors_take(&kept)), 'x');
	ck_assert_int_eq(mark_of(kp_descriptors_take(&kept)), 'y');
	ck_assert_int_eq(kp_descriptors_take(&kept), -1);
}
END_TEST

START_TEST(a_message_that_is_taken_in_pieces_brings_its_descriptors_once)
{
	int fd = marked('x');
	static char space[1 << 16];
	size_t got = 0;

	ck_assert(outbox_add(&outbox, message('a', LARGE), LARGE, &fd, 1));
	(void)close(fd);
	while (got < LARGE) {
		ck_assert_int_eq(outbox_flush(&outbox, ends[0]), 0);
		ssize_t n = kp_descriptors_receive(&kept, ends[1], space, sizeof(space));
		ck_assert_int_gt(n, 0);
		got += (size_t)n;
	}
	ck_assert_uint_eq(kept.count, 1);
	ck_assert_int_eq(mark_of(kp_descriptors_take(&kept)), 'x');
}
END_TEST

START_TEST(what_is_never_sent_closes_its_descriptors)
{
	int pipes[2];
	char byte;

	ck_assert_int_eq(pipe(pipes), 0);
	ck_assert(outbox_add(&outbox, message('a', 5), 5, &pipes[1], 1));
	(void)close(pipes[1]);
	outbox_finish(&outbox);
	ck_assert_int_eq(read(pipes[0], &byte, 1), 0);
	(void)close(pipes[0]);
}
END_TEST

START_TEST(a_descriptor_that_is_none_refuses_the_message)
{
	int bad = 9999;

	ck_assert(!outbox_add(&outbox, message('a', 5), 5, &bad, 1));
	ck_assert(!outbox_add(&outbox, NULL, 0, NULL, 0));
	ck_assert_ptr_null(outbox.first);
	ck_assert_uint_eq(outbox.unsent, 0);
}
END_TEST

START_TEST(a_peer_that_has_gone_ends_the_sending)
{
	ck_assert(outbox_add(&outbox, message('a', 5), 5, NULL, 0));
	ck_assert_int_eq(shutdown(ends[1], SHUT_RDWR), 0);
	ck_assert_int_eq(outbox_flush(&outbox, ends[0]), -1);
}
END_TEST

START_TEST(more_descriptors_than_there_is_room_for_are_closed_and_an_error)
{
	char space[64];
	ssize_t n = 1;

	for (int i = 0; i < KP_DESCRIPTORS + 1 && n > 0; i++) {
		int fd = marked('x');
		ck_assert(outbox_add(&outbox, message('a', 1), 1, &fd, 1));
		(void)close(fd);
		ck_assert_int_eq(outbox_flush(&outbox, ends[0]), 0);
		n = kp_descriptors_receive(&kept, ends[1], space, sizeof(space));
	}
	ck_assert_int_eq(n, -1);
	ck_assert_int_eq(errno, EPROTO);
	ck_assert_uint_eq(kept.count, KP_DESCRIPTORS);
}
END_TEST

START_TEST(what_is_received_is_closed_on_exec)
{
	int fd = marked('x');
	char space[8];

	ck_assert(outbox_add(&outbox, message('a', 1), 1, &fd, 1));
	(void)close(fd);
	ck_assert_int_eq(outbox_flush(&outbox, ends[0]), 0);
	ck_assert_int_eq(kp_descriptors_receive(&kept, ends[1], space, 8), 1);
	int got = kp_descriptors_take(&kept);
	ck_assert_int_eq(fcntl(got, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	(void)close(got);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("outbox");
	TCase *tcase = tcase_create("outbox");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, descriptors_arrive_with_their_message_and_in_order);
	tcase_add_test(
		tcase, a_message_that_is_taken_in_pieces_brings_its_descriptors_once);
	tcase_add_test(tcase, what_is_never_sent_closes_its_descriptors);
	tcase_add_test(tcase, a_descriptor_that_is_none_refuses_the_message);
	tcase_add_test(tcase, a_peer_that_has_gone_ends_the_sending);
	tcase_add_test(
		tcase, more_descriptors_than_there_is_room_for_are_closed_and_an_error);
	tcase_add_test(tcase, what_is_received_is_closed_on_exec);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
