/* SPDX-License-Identifier: MIT */
/*
 * An account of each call that changes something, or would have: who asked for what, what
 * held before and after, and how it ended. A line of the log with a priority of its own,
 * whatever its level, and an event. Changes nothing; loop thread only.
 */
#ifndef KP_DAEMON_AUDIT_H
#define KP_DAEMON_AUDIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/diag.h"

struct audit;
struct daemon;

/* Refused calls of one user, who is not root, that are told one by one. */
enum { AUDIT_USERS = 16, AUDIT_REFUSED = 20, AUDIT_WINDOW_MS = 60000 };

/* Zero it first. */
struct audit_bounds {
	struct audit_bound {
		bool used;
		unsigned uid;
		uint64_t since_ms;
		size_t told, untold;
	} users[AUDIT_USERS];
};

struct audit_who {
	unsigned uid;
	pid_t pid;
};

/* Does the method ("Disable") change something? */
bool audit_is_of(const char *method);

/* Borrows the daemon and the parameters for the audit's life. NULL for want of memory. */
struct audit *audit_new(struct daemon *daemon, const char *method,
	const json_t *parameters, const struct audit_who *who);
/* What holds now is what held before: others may have come first. */
void audit_before(struct audit *audit);
/* Tells how it ended and frees; refusal NULL: as was asked for. audit NULL is fine. */
void audit_end(struct audit *audit, const struct kp_diag *refusal);

/*
 * May one more refused call of this user be told? Where a new time begins, *untold is
 * how many of the one before were not.
 */
bool audit_may_tell(
	struct audit_bounds *bounds, unsigned uid, uint64_t now_ms, size_t *untold);

/*
 * The name of a user as /etc/passwd has it, or "": a service of names may take its time.
 * Returns `name`.
 */
const char *audit_user(unsigned uid, char *name, size_t size);

#endif
