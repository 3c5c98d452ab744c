/* SPDX-License-Identifier: MIT */
/* Who may come while many are there, and who has to go for it. */
#include "daemon/socket/room.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/socket/client.h"
#include "tests/support/suite.h"

static struct room room;
static struct daemon service;
static int peers[ROOM_ALL];
static size_t n_peers;
static struct kp_diag diag;

static void make_room(void)
{
	room = (struct room){.shared = true};
	service = (struct daemon){.log = {.level = LOG_ERROR, .fd = STDERR_FILENO}};
	n_peers = 0;
	ck_assert_int_eq(uv_loop_init(&service.loop), 0);
}

static void on_closed(void *context, struct client *client)
{
	room_leave(context, client);
}

static void drop_room(void)
{
	while (room.count > 0)
		client_close(room.guests[0].client);
	ck_assert_int_eq(uv_run(&service.loop, UV_RUN_DEFAULT), 0);
	ck_assert_int_eq(uv_loop_close(&service.loop), 0);
	while (n_peers > 0)
		(void)close(peers[--n_peers]);
}

static struct client *come(enum role role, unsigned uid, bool refused)
{
	int fds[2];
	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
		0);
	peers[n_peers++] = fds[1];
	struct client_options options = {.fd = fds[0],
		.role = role,
		.uid = uid,
		.closed = on_closed,
		.context = &room};
	struct guest guest = {client_new(&service, &options), role, uid, refused,
		uv_now(&service.loop)};
	ck_assert_ptr_nonnull(guest.client);
	room_enter(&room, &guest);
	return guest.client;
}

/* How many more of this kind are let in one after the other. */
static size_t fill(enum role role, unsigned first_uid, size_t users)
{
	size_t n = 0;
	while (room_has_place(&room, role, first_uid + n % users, &diag) == 0) {
		come(role, (unsigned)(first_uid + n % users), false);
		n++;
	}
	ck_assert_str_eq(diag.code, "busy");
	return n;
}

static uint64_t later(uint64_t ms)
{
	return uv_now(&service.loop) + ms;
}

START_TEST(one_user_has_so_many_connections_and_others_have_room)
{
	ck_assert_uint_eq(fill(ROLE_OBSERVER, 1000, 1), ROOM_A_USER);
	ck_assert_ptr_nonnull(strstr(diag.message, "uid 1000 has 64"));
	ck_assert_uint_eq(fill(ROLE_OPERATOR, 1001, 1), ROOM_A_USER);
	ck_assert_int_eq(room_has_place(&room, ROLE_OBSERVER, 1002, &diag), 0);
	ck_assert_int_eq(room_has_place(&room, ROLE_ADMIN, 0, &diag), 0);
}
END_TEST

START_TEST(operators_and_root_have_places_that_nobody_else_gets)
{
	ck_assert_uint_eq(fill(ROLE_OBSERVER, 1000, 30), ROOM_OBSERVERS);
	ck_assert_uint_eq(fill(ROLE_OPERATOR, 2000, 30), ROOM_OPERATORS - ROOM_OBSERVERS);
	ck_assert_uint_eq(fill(ROLE_ADMIN, 0, 1), ROOM_CLIENTS - ROOM_OPERATORS);
}
END_TEST

START_TEST(the_refused_take_no_place)
{
	for (size_t i = 0; i < ROOM_REFUSED; i++) {
		ck_assert(room_can_refuse(&room));
		come(ROLE_OBSERVER, 1000, true);
	}
	ck_assert(!room_can_refuse(&room));
	ck_assert_uint_eq(room.served, 0);
	ck_assert_uint_eq(fill(ROLE_OBSERVER, 1000, 1), ROOM_A_USER);
	ck_assert_uint_eq(fill(ROLE_ADMIN, 0, 1), ROOM_CLIENTS - ROOM_A_USER);
}
END_TEST

START_TEST(the_refused_leave_when_their_time_is_over)
{
	come(ROLE_OBSERVER, 1000, false);
	struct client *refused = come(ROLE_OBSERVER, 1000, true);
	ck_assert_ptr_null(room_overdue(&room, later(ROOM_REFUSED_MS - 1)));
	ck_assert_ptr_eq(room_overdue(&room, later(ROOM_REFUSED_MS)), refused);
	client_close(refused);
	ck_assert_ptr_null(room_overdue(&room, later(ROOM_REFUSED_MS)));
	ck_assert_uint_eq(room.served, 1);
}
END_TEST

START_TEST(the_owner_of_a_private_daemon_has_all_places)
{
	room.shared = false;
	ck_assert_uint_eq(fill(ROLE_ADMIN, 1000, 1), ROOM_CLIENTS);
}
END_TEST

START_TEST(who_is_silent_for_long_has_to_go_first)
{
	struct client *first = come(ROLE_OBSERVER, 1000, false);
	fill(ROLE_OBSERVER, 1000, 1);
	come(ROLE_OBSERVER, 1001, false);
	ck_assert_ptr_null(
		room_most_silent(&room, ROLE_OBSERVER, 1000, later(ROOM_SILENT_MS - 1)));
	ck_assert_ptr_eq(
		room_most_silent(&room, ROLE_OBSERVER, 1000, later(ROOM_SILENT_MS)),
		first);
}
END_TEST

START_TEST(a_user_with_too_many_sends_nobody_else_away)
{
	come(ROLE_OBSERVER, 7, false);
	fill(ROLE_OBSERVER, 1000, 1);
	struct client *gone =
		room_most_silent(&room, ROLE_OBSERVER, 1000, later(ROOM_SILENT_MS));
	for (size_t i = 0; i < room.count; i++)
		if (room.guests[i].client == gone)
			ck_assert_uint_eq(room.guests[i].uid, 1000);
	ck_assert_ptr_nonnull(gone);
}
END_TEST

START_TEST(nobody_sends_a_higher_role_away)
{
	come(ROLE_ADMIN, 0, false);
	come(ROLE_OPERATOR, 2000, false);
	uint64_t now = later(2 * ROOM_SILENT_MS);
	ck_assert_ptr_null(room_most_silent(&room, ROLE_OBSERVER, 1000, now));
	ck_assert_ptr_nonnull(room_most_silent(&room, ROLE_OPERATOR, 2001, now));
	come(ROLE_OBSERVER, 1000, true);
	ck_assert_ptr_null(room_most_silent(&room, ROLE_OBSERVER, 1001, now));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("room");
	TCase *tcase = tcase_create("room");
	tcase_add_checked_fixture(tcase, make_room, drop_room);
	tcase_add_test(tcase, one_user_has_so_many_connections_and_others_have_room);
	tcase_add_test(tcase, operators_and_root_have_places_that_nobody_else_gets);
	tcase_add_test(tcase, the_refused_take_no_place);
	tcase_add_test(tcase, the_refused_leave_when_their_time_is_over);
	tcase_add_test(tcase, the_owner_of_a_private_daemon_has_all_places);
	tcase_add_test(tcase, who_is_silent_for_long_has_to_go_first);
	tcase_add_test(tcase, a_user_with_too_many_sends_nobody_else_away);
	tcase_add_test(tcase, nobody_sends_a_higher_role_away);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
