/* SPDX-License-Identifier: MIT */
/* All or nothing for decisions. */
#include "daemon/state/decision.h"

#include "daemon/application/attached.h"
#include "daemon/daemon.h"
#include "daemon/event.h"

static int bring_in_force(
	struct daemon *daemon, struct kp_decisions *next, struct kp_diag *diag)
{
	bool identified = false;

	/* What is off stays off under other names: the decision says which library. */
	if (kp_registry_identify(daemon->registry, next, &identified) < 0)
		return kp_diag_no_memory(diag);
	if (kp_registry_decide(daemon->registry, next, daemon_now(), diag) < 0)
		return -1;
	if (generation_publish(&daemon->generation, daemon->registry, diag) < 0)
		return -1;
	event_generation(daemon);
	attached_follow(daemon->attached);
	return 0;
}

int decision_enforce(
	struct daemon *daemon, struct kp_decisions *next, struct kp_diag *diag)
{
	struct kp_diag own;

	if (bring_in_force(daemon, next, diag) == 0) {
		kp_decisions_finish(&daemon->decisions);
		daemon->decisions = *next;
		*next = (struct kp_decisions){0};
		daemon->is_behind = false;
		return 0;
	}
	kp_decisions_finish(next);
	daemon->is_behind = true;
	if (decision_catch_up(daemon, &own) < 0)
		log_diag(&daemon->log, LOG_ERROR, &own);
	return -1;
}

int decision_catch_up(struct daemon *daemon, struct kp_diag *diag)
{
	if (!daemon->is_behind)
		return 0;
	if (kp_registry_decide(daemon->registry, &daemon->decisions, daemon_now(), diag) <
		0)
		return -1;
	daemon->is_behind = false;
	return 0;
}
