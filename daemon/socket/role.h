/* SPDX-License-Identifier: MIT */
/* Who may do what, by what the kernel says of the peer of a socket. */
#ifndef KP_DAEMON_ROLE_H
#define KP_DAEMON_ROLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/diag.h"

/* Each may what those before it may. */
enum role { ROLE_OBSERVER, ROLE_OPERATOR, ROLE_ADMIN };

struct role_policy {
	bool system;
	uid_t own;
	bool has_operators;
	gid_t operators; /* the group kplug, where there is one */
};

struct peer {
	uid_t uid;
	pid_t pid;
	size_t n_groups;
	gid_t *groups; /* the primary one first */
};

/* For this process; looks up the group kplug (may read files: at the start only). */
void role_policy_init(struct role_policy *policy, bool system);

/* SO_PEERCRED and SO_PEERGROUPS of a connected socket. Codes io_error, no_memory. */
int peer_read(int fd, struct peer *peer, struct kp_diag *diag)
	__attribute__((warn_unused_result));
void peer_finish(struct peer *peer);

/*
 * System: uid 0 admin, members of the group operator, others observer, the
 * daemon's own uid (unless 0) observer even as a member. Private: the owner
 * and uid 0 admin; others get code not_permitted.
 */
int role_of(const struct role_policy *policy, const struct peer *peer, enum role *role,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* Whose role it is. */
struct role_held {
	enum role role;
	unsigned uid;
};

/* Code not_permitted: what needs which role, who has that, and who asked. Returns -1. */
int role_refuse(const char *object, const char *what, const struct role_held *held,
	enum role needed, struct kp_diag *diag);

#endif
