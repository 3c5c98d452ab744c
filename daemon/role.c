/* SPDX-License-Identifier: MIT */
/* Roles from credentials. */
#include "daemon/role.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

int peer_read(int fd, struct peer *peer, struct kp_diag *diag)
{
	struct ucred who;
	gid_t groups[sizeof(peer->groups) / sizeof(peer->groups[0]) - 1];
	socklen_t size = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
		return failed("credentials", diag);
	*peer = (struct peer){
		.uid = who.uid, .pid = who.pid, .n_groups = 1, .groups = {who.gid}};
	size = sizeof(groups);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0) {
		/* More groups than fit: the primary one counts, which only takes rights.
		 */
		return errno == ERANGE ? 0 : failed("groups", diag);
	}
	memcpy(peer->groups + 1, groups, size);
	peer->n_groups += size / sizeof(groups[0]);
	return 0;
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

const char *role_name(enum role role)
{
	static const char *const names[] = {"observer", "operator", "admin"};
	return names[role];
}
