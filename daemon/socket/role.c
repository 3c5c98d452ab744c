/* SPDX-License-Identifier: MIT */
/* Roles from credentials. */
#include "daemon/socket/role.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { GROUPS_AT_FIRST = 63 };

void role_policy_init(struct role_policy *policy, bool system)
{
	const struct group *group = system ? getgrnam("kplug") : NULL;
	*policy = (struct role_policy){.system = system,
		.own = geteuid(),
		.has_operators = group != NULL,
		.operators = group ? group->gr_gid : 0};
}

static int failed(const char *what, struct kp_diag *diag)
{
	return kp_diag_set(diag, "io_error", NULL, "cannot read the peer's %s: %s", what,
		strerror(errno));
}

/*
 * The primary group and those behind it; a process may be in 65536 and change that
 * between two looks.
 */
static int read_groups(int fd, gid_t primary, struct peer *peer, struct kp_diag *diag)
{
	socklen_t size = GROUPS_AT_FIRST * sizeof(gid_t);

	for (;;) {
		gid_t *groups = realloc(peer->groups, size + sizeof(gid_t));
		if (!groups)
			return kp_diag_no_memory(diag);
		peer->groups = groups;
		groups[0] = primary;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups + 1, &size) == 0)
			break;
		/* Then the kernel has said how large they are. */
		if (errno != ERANGE)
			return failed("groups", diag);
	}
	peer->n_groups = 1 + size / sizeof(gid_t);
	return 0;
}

int peer_read(int fd, struct peer *peer, struct kp_diag *diag)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
		return failed("credentials", diag);
	struct peer read = {.uid = who.uid, .pid = who.pid};
	if (read_groups(fd, who.gid, &read, diag) < 0) {
		peer_finish(&read);
		return -1;
	}
	*peer = read;
	return 0;
}

void peer_finish(struct peer *peer)
{
	free(peer->groups);
	*peer = (struct peer){0};
}

static bool is_operator(const struct role_policy *policy, const struct peer *peer)
{
	if (!policy->has_operators || peer->uid == policy->own)
		return false;
	for (size_t i = 0; i < peer->n_groups; i++)
		if (peer->groups[i] == policy->operators)
			return true;
	return false;
}

int role_of(const struct role_policy *policy, const struct peer *peer, enum role *role,
	struct kp_diag *diag)
{
	bool is_owner = !policy->system && peer->uid == policy->own;
	if (peer->uid == 0 || is_owner) {
		*role = ROLE_ADMIN;
	} else if (policy->system) {
		*role = is_operator(policy, peer) ? ROLE_OPERATOR : ROLE_OBSERVER;
	} else {
		return kp_diag_set(diag, "not_permitted", "plugind",
			"this plugind is private to uid %u, you are uid %u",
			(unsigned)policy->own, (unsigned)peer->uid);
	}
	return 0;
}

int role_refuse(const char *object, const char *what, const struct role_held *held,
	enum role needed, struct kp_diag *diag)
{
	static const char *const names[] = {"observer", "operator", "admin"};
	static const char *const holders[] = {
		"everybody has", "root and members of the group kplug have", "root has"};

	return kp_diag_set(diag, "not_permitted", object,
		"%s needs the role %s, which %s; you (uid %u) are %s", what,
		names[needed], holders[needed], held->uid, names[held->role]);
}
