/* SPDX-License-Identifier: MIT */
/*
 * A kernel that crashed applications often enough is off: for the user, or for all where
 * they were operators'. Loop thread only.
 */
#ifndef KP_DAEMON_QUARANTINE_H
#define KP_DAEMON_QUARANTINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/diag.h"
#include "lib/select/select.h"

struct daemon;

/*
 * A strike of the kernel against `who` (a uid, or KP_QUARANTINE_ALL), told as this
 * incident. After as many as options say within the time that they say the kernel is off
 * from now on, durably, and those who watch are told.
 */
void quarantine_strike(
	struct daemon *daemon, const char *kernel, int64_t who, int64_t incident);

/*
 * Forgets strikes of a kernel or of a plugin's kernels: all, or those of this user alone.
 */
void quarantine_forget(struct daemon *daemon, const char *name, int64_t who, bool all);
/*
 * Lifts all quarantines of a plugin's kernels, and forgets their strikes. Codes of
 * decision_enforce and state_keep_decisions.
 */
int quarantine_lift(struct daemon *daemon, const char *plugin, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Is anything off for this user alone? Then replies to others are not for it. */
bool quarantine_has_own(const struct daemon *daemon, unsigned uid);
/* What is off for this user alone, as an overlay of requests; .context is *whose. */
struct quarantine_whose {
	const struct daemon *daemon;
	unsigned uid;
};
struct kp_overlay quarantine_overlay(struct quarantine_whose *whose);
/* An array of Without of the interface; NULL for want of memory. */
json_t *quarantine_without(const struct daemon *daemon, unsigned uid);
/*
 * Says so in a Plugin (its quarantined_kernels) or a PluginInfo (its kernels' states) for
 * this user. Takes and returns the object.
 */
json_t *quarantine_show(const struct daemon *daemon, unsigned uid, json_t *plugin);

#endif
