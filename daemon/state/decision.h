/* SPDX-License-Identifier: MIT */
/*
 * A change of what operators decided: made on a copy, then in force for every later
 * reply, or not made at all.
 */
#ifndef KP_DAEMON_DECISION_H
#define KP_DAEMON_DECISION_H

#include "lib/base/diag.h"
#include "lib/registry/decisions.h"

struct daemon;

/*
 * Puts *next in the place of the daemon's decisions, in the registry and in the
 * published table; takes it over. When that fails those of before hold, everywhere.
 */
int decision_enforce(struct daemon *daemon, struct kp_decisions *next,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * Where memory was not even there to take a change back: brings the registry in line
 * with the daemon's decisions again. Nothing to do at any other time.
 */
int decision_catch_up(struct daemon *daemon, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
