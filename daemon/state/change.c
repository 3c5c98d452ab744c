/* SPDX-License-Identifier: MIT */
/* The way of a decision: memory, table, disk, answer. */
#include "daemon/state/change.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/event.h"
#include "daemon/method/method.h"
#include "daemon/state/decision.h"
#include "daemon/state/state.h"

enum { REASON_MOST = 512 };

/* One that waits for the disk. */
struct change {
	struct daemon *daemon;
	struct call *call; /* alive until it is answered, also without its client */
	json_t *reply;
	json_t *(*tell)(struct daemon *daemon, const char *name, json_t *reply);
	void (*then)(struct daemon *daemon, struct call *call, const char *name,
		json_t *reply);
	char name[];
};

static void change_free(struct change *change)
{
	json_decref(change->reply);
	free(change);
}

static void answer(struct change *change)
{
	json_t *reply = change->reply;

	change->reply = NULL;
	if (change->tell)
		reply = change->tell(change->daemon, change->name, reply);
	if (change->then)
		change->then(change->daemon, change->call, change->name, reply);
	else
		call_reply(change->call, reply);
	change_free(change);
}

static void on_kept(void *context, const struct kp_diag *diag)
{
	struct change *change = context;
	struct kp_diag own;

	if (!diag) {
		/* From now on the disk says what is meant. */
		kp_diags_finish(&change->daemon->lost);
		answer(change);
		return;
	}
	log_diag(&change->daemon->log, LOG_ERROR, diag);
	kp_diag_set(&own, diag->code, change->name,
		"%s: in force, but lost at the next start: %s", change->name,
		diag->message);
	call_fail(change->call, &own, NULL);
	change_free(change);
}

bool wish_has_good_reason(const struct wish *wish, struct call *call)
{
	size_t size = strlen(wish->reason);
	struct kp_diag diag;

	if (size <= REASON_MOST)
		return true;
	kp_diag_set(&diag, "reason_too_long", "reason",
		"reason: %zu bytes, at most %d are kept", size, REASON_MOST);
	call_fail(call, &diag, NULL);
	return false;
}

static void drop(struct wish *wish)
{
	kp_decisions_finish(&wish->next);
	json_decref(wish->members);
	wish->members = NULL;
}

void wish_give_up(struct wish *wish, struct call *call)
{
	drop(wish);
	call_reply(call, NULL);
}

/*
 * That a plugin's state has changed is logged with the change; a failed one keeps it, and
 * another library may have the same.
 */
static enum log_level level_of(const struct daemon *daemon, const struct wish *wish)
{
	enum kp_state state;

	if (wish->then || !kp_registry_state(daemon->registry, wish->name, &state))
		return LOG_INFO;
	return state == KP_STATE_ACTIVE || state == KP_STATE_DISABLED ||
			       state == KP_STATE_PENDING
		       ? LOG_DEBUG
		       : LOG_INFO;
}

static void tell_others(
	struct daemon *daemon, const struct call *call, const struct wish *wish)
{
	log_line(&daemon->log, level_of(daemon, wish), "%s%s%s: %s by uid %u%s%s",
		wish->name, wish->object ? " " : "", wish->object ? wish->object : "",
		wish->what, call_uid(call), wish->reason[0] ? ": " : "", wish->reason);
	event_decision(daemon, wish->kind, wish->name, wish->object, wish->reason);
}

/* One that changes nothing must hold, too, whatever went wrong before. */
static int enforce(
	struct daemon *daemon, struct call *call, struct wish *wish, struct kp_diag *diag)
{
	if (!wish->changed && !daemon->is_behind) {
		kp_decisions_finish(&wish->next);
		daemon_table(daemon);
		return 0;
	}
	/* What could not be read back must not be acknowledged. */
	if (wish->keep && kp_decisions_fit(&wish->next, &daemon->decisions, diag) < 0) {
		kp_decisions_finish(&wish->next);
		return kp_diag_rename(diag, wish->name);
	}
	call_changes(call);
	event_cause_begin(daemon, call_uid(call));
	int result = decision_enforce(daemon, &wish->next, diag);
	if (result == 0 && wish->changed)
		tell_others(daemon, call, wish);
	event_cause_end(daemon);
	return result;
}

static json_t *reply_of(const struct wish *wish, uint64_t generation)
{
	json_t *reply = wish->members ? json_incref(wish->members)
				      : json_pack("{s:s}", "name", wish->name);

	if (json_object_set_new(reply, "changed", json_boolean(wish->changed)) < 0 ||
		json_object_set_new(
			reply, "generation", json_integer((json_int_t)generation)) < 0) {
		json_decref(reply);
		return NULL;
	}
	return reply;
}

void wish_commit(struct wish *wish, struct daemon *daemon, struct call *call)
{
	size_t size = strlen(wish->name) + 1;
	struct change *change = malloc(sizeof(*change) + size);
	struct kp_diag diag;

	if (!change) {
		wish_give_up(wish, call);
		return;
	}
	if (enforce(daemon, call, wish, &diag) < 0) {
		drop(wish);
		free(change);
		call_fail(call, &diag, NULL);
		return;
	}
	*change = (struct change){daemon, call, reply_of(wish, daemon->generation.number),
		wish->tell, wish->then};
	memcpy(change->name, wish->name, size);
	drop(wish);
	if (!wish->keep)
		answer(change);
	else if (state_keep_decisions(
			 daemon->state, &daemon->decisions, on_kept, change, &diag) < 0)
		on_kept(change, &diag);
	if (wish->changed)
		daemon_changed(daemon);
}
