/* SPDX-License-Identifier: MIT */
/* Who may do what: a matrix of uids and groups. */
#include "daemon/socket/role.h"
#include "tests/support/suite.h"

#include <check.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { OWN = 990, GROUP = 700, REFUSED = -1 };

static const struct {
	const char *what;
	bool system;
	uid_t own, uid;
	gid_t groups[3];
	int role;
} cases[] = {
	{"root of a system daemon", true, OWN, 0, {0}, ROLE_ADMIN},
	{"a member of the group", true, OWN, 1000, {1000, GROUP}, ROLE_OPERATOR},
	{"a member by the primary group", true, OWN, 1000, {GROUP}, ROLE_OPERATOR},
	{"a member by the last of its groups", true, OWN, 1000, {5, 6, GROUP},
		ROLE_OPERATOR},
	{"anybody else", true, OWN, 1000, {1000, 1001}, ROLE_OBSERVER},
	{"the daemon's own user", true, OWN, OWN, {990}, ROLE_OBSERVER},
	{"the daemon's own user in the group", true, OWN, OWN, {GROUP}, ROLE_OBSERVER},
	{"root, being the daemon's user", true, 0, 0, {0}, ROLE_ADMIN},
	{"the owner of a private daemon", false, 1000, 1000, {1000}, ROLE_ADMIN},
	{"root of a private daemon", false, 1000, 0, {0}, ROLE_ADMIN},
	{"somebody else", false, 1000, 1001, {1001}, REFUSED},
	{"somebody else in the group", false, 1000, 1001, {GROUP}, REFUSED},
};

START_TEST(each_peer_has_its_role)
{
	struct role_policy policy = {cases[_i].system, cases[_i].own, true, GROUP};
	gid_t groups[3];
	struct peer peer = {.uid = cases[_i].uid, .n_groups = 3, .groups = groups};
	enum role role = ROLE_OBSERVER;
	struct kp_diag diag;

	memcpy(groups, cases[_i].groups, sizeof(cases[_i].groups));
	int result = role_of(&policy, &peer, &role, &diag);
	ck_assert_msg(
		result == (cases[_i].role == REFUSED ? -1 : 0), "%s", cases[_i].what);
	if (result == 0)
		ck_assert_msg((int)role == cases[_i].role, "%s", cases[_i].what);
	else
		ck_assert_str_eq(diag.code, "not_permitted");
}
END_TEST

START_TEST(without_the_group_nobody_is_an_operator)
{
	/* gid 0 is what an unset field holds. */
	struct role_policy policy = {.system = true, .own = OWN};
	gid_t none = 0;
	struct peer peer = {.uid = 1000, .n_groups = 1, .groups = &none};
	enum role role = ROLE_ADMIN;
	struct kp_diag diag;

	ck_assert_int_eq(role_of(&policy, &peer, &role, &diag), 0);
	ck_assert_int_eq(role, ROLE_OBSERVER);
}
END_TEST

START_TEST(the_kernel_says_who_the_peer_is)
{
	struct kp_diag diag;
	struct peer peer;
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	ck_assert_int_eq(peer_read(fds[0], &peer, &diag), 0);
	ck_assert_uint_eq(peer.uid, geteuid());
	ck_assert_int_eq(peer.pid, getpid());
	ck_assert_uint_ge(peer.n_groups, 1);
	ck_assert_uint_eq(peer.groups[0], getegid());
	peer_finish(&peer);
	(void)close(fds[0]);
	(void)close(fds[1]);
}
END_TEST

/* Runs in a process of its own: it keeps its groups. */
START_TEST(the_last_of_many_groups_counts)
{
	static const size_t counts[] = {1, 62, 63, 64, 65, 1000, 65536};
	struct role_policy policy = {true, OWN, true, GROUP};
	size_t count = counts[_i];
	gid_t *groups = calloc(count, sizeof(*groups));
	enum role role = ROLE_OBSERVER;
	struct kp_diag diag;
	struct peer peer;
	int fds[2];

	ck_assert_ptr_nonnull(groups);
	for (size_t i = 0; i < count; i++)
		groups[i] = (gid_t)(100000 + i);
	groups[count - 1] = GROUP;
	if (setgroups(count, groups) < 0) {
		/* Only root can choose groups. */
		ck_assert_int_ne(geteuid(), 0);
		free(groups);
		return;
	}
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	ck_assert_int_eq(peer_read(fds[0], &peer, &diag), 0);
	ck_assert_uint_eq(peer.n_groups, count + 1);
	peer.uid = 1000;
	ck_assert_int_eq(role_of(&policy, &peer, &role, &diag), 0);
	ck_assert_int_eq(role, ROLE_OPERATOR);
	peer_finish(&peer);
	free(groups);
	(void)close(fds[0]);
	(void)close(fds[1]);
}
END_TEST

START_TEST(what_is_not_a_socket_has_no_peer)
{
	struct kp_diag diag;
	struct peer peer;
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(peer_read(fds[0], &peer, &diag), -1);
	ck_assert_str_eq(diag.code, "io_error");
	(void)close(fds[0]);
	(void)close(fds[1]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("role");
	TCase *tcase = tcase_create("role");
	tcase_add_loop_test(
		tcase, each_peer_has_its_role, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(tcase, without_the_group_nobody_is_an_operator);
	tcase_add_test(tcase, the_kernel_says_who_the_peer_is);
	tcase_add_loop_test(tcase, the_last_of_many_groups_counts, 0, 7);
	tcase_add_test(tcase, what_is_not_a_socket_has_no_peer);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
