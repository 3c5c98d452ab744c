/* SPDX-License-Identifier: MIT */
/* Disable, Enable and IsEnabled: what operators decide. */
#include "daemon/method.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/decision.h"
#include "daemon/holding.h"
#include "daemon/settle.h"
#include "daemon/state.h"
#include "lib/json.h"
#include "lib/table.h"

enum { REASON_MOST = 512 };

/* ---- names ---- */

/* Answers the call when there is no such plugin or kernel. */
static bool resolves(struct daemon *daemon, struct call *call, const char *name)
{
	struct kp_diag diag;

	daemon_table(daemon);
	if (kp_registry_resolve(daemon->registry, name, &diag) == 0)
		return true;
	call_fail(call, &diag, NULL);
	return false;
}

/* ---- a change, kept on disk before it is answered ---- */

struct change {
	struct daemon *daemon;
	struct call *call; /* alive until it is answered, also without its client */
	bool changed;
	bool tells; /* what holds now */
	uint64_t generation;
	char name[];
};

static void answer(struct change *change)
{
	json_t *reply = json_pack("{s:s, s:b, s:I}", "name", change->name, "changed",
		change->changed, "generation", (json_int_t)change->generation);

	if (change->tells)
		reply = holding_add(change->daemon, change->name, reply);
	call_reply(change->call, reply);
	free(change);
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
	free(change);
}

/* What is asked for; its strings are the call's. */
struct wish {
	const char *name, *what, *reason;
	struct kp_decisions next; /* as they are to be */
	bool changed;		  /* are they other ones? */
	bool keep;		  /* on the disk */
	bool tells;		  /* the reply, what holds now */
};

/* That a plugin's state has changed is logged with the change; a failed one keeps it. */
static enum log_level level_of(const struct daemon *daemon, const char *name)
{
	enum kp_state state;

	if (!kp_registry_state(daemon->registry, name, &state))
		return LOG_INFO;
	return state == KP_STATE_ACTIVE || state == KP_STATE_DISABLED ||
			       state == KP_STATE_PENDING
		       ? LOG_DEBUG
		       : LOG_INFO;
}

static void log_wish(
	struct daemon *daemon, const struct call *call, const struct wish *wish)
{
	log_line(&daemon->log, level_of(daemon, wish->name), "%s: %s by uid %u%s%s",
		wish->name, wish->what, call_uid(call), wish->reason[0] ? ": " : "",
		wish->reason);
}

/* One that changes nothing must hold, too, whatever went wrong before. */
static int enforce(struct daemon *daemon, const struct call *call, struct wish *wish,
	struct kp_diag *diag)
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
	if (decision_enforce(daemon, &wish->next, diag) < 0)
		return -1;
	if (wish->changed)
		log_wish(daemon, call, wish);
	return 0;
}

/*
 * Brings it into force at once, for every later reply; answers when it is on the
 * disk, too. Takes over what is in *wish.
 */
static void commit(struct daemon *daemon, struct call *call, struct wish *wish)
{
	struct change *change = malloc(sizeof(*change) + strlen(wish->name) + 1);
	bool changed = wish->changed;
	struct kp_diag diag;

	if (!change) {
		kp_decisions_finish(&wish->next);
		call_reply(call, NULL);
		return;
	}
	if (enforce(daemon, call, wish, &diag) < 0) {
		free(change);
		call_fail(call, &diag, NULL);
		return;
	}
	*change = (struct change){
		daemon, call, changed, wish->tells, daemon->generation.number};
	memcpy(change->name, wish->name, strlen(wish->name) + 1);
	if (!wish->keep)
		answer(change);
	else if (state_keep_decisions(
			 daemon->state, &daemon->decisions, on_kept, change, &diag) < 0)
		on_kept(change, &diag);
	if (changed)
		daemon_changed(daemon);
}

/* ---- Disable ---- */

static int check_reason(const char *reason, struct kp_diag *diag)
{
	if (strlen(reason) <= REASON_MOST)
		return 0;
	return kp_diag_set(diag, "reason_too_long", "reason",
		"reason: %zu bytes, at most %d are kept", strlen(reason), REASON_MOST);
}

static void answer_disable(struct daemon *daemon, struct call *call)
{
	const json_t *parameters = call_parameters(call);
	const char *name = kp_json_text(parameters, "name");
	const char *reason = kp_json_text(parameters, "reason");
	bool runtime = json_is_true(json_object_get(parameters, "runtime"));
	struct wish wish = {.name = name,
		.what = runtime ? "disabled until the next start" : "disabled",
		.reason = reason ? reason : "",
		.keep = !runtime};
	struct kp_diag diag;

	if (!resolves(daemon, call, name))
		return;
	if (check_reason(wish.reason, &diag) < 0) {
		call_fail(call, &diag, NULL);
		return;
	}
	if (kp_decisions_copy(&daemon->decisions, &wish.next) < 0 ||
		kp_decisions_disable(&wish.next, name, wish.reason, daemon_now(),
			call_uid(call), runtime, &wish.changed) < 0) {
		kp_decisions_finish(&wish.next);
		call_reply(call, NULL);
		return;
	}
	/* One that was not changed may still be on its way to the disk: keep again. */
	commit(daemon, call, &wish);
}

static void disable(struct daemon *daemon, struct call *call)
{
	settle_names(daemon, call, answer_disable);
}

/* ---- Enable ---- */

/* Is kernel i of the table one that `name` means? */
static bool is_meant(
	const struct kp_entry_state *state, const struct kp_spec *spec, const char *name)
{
	size_t n = strlen(state->plugin);
	if (strncmp(name, state->plugin, n) != 0)
		return false;
	return name[n] == '\0' ||
	       (name[n] == '/' && strcmp(name + n + 1, spec->name) == 0);
}

/* Whoever enables a kernel that is unproven here says that it is good. */
static int prove(
	struct daemon *daemon, const char *name, struct kp_decisions *next, bool *changed)
{
	const struct kp_table *table = daemon_table(daemon);
	int result = 0;

	for (size_t i = 0; result == 0 && i < kp_table_kernels(table); i++) {
		struct kp_entry_state state;
		struct kp_spec spec;
		void *memory;
		bool is_new = false;
		char *id = NULL;
		if (kp_table_spec(table, i, &spec, &state, &memory) < 0)
			return -1;
		if (spec.flags & KP_FLAG_UNPROVEN && is_meant(&state, &spec, name)) {
			if (asprintf(&id, "%s/%s", state.plugin, spec.name) < 0)
				id = NULL;
			result = id ? kp_decisions_prove(next, id, true, &is_new) : -1;
			free(id);
		}
		*changed |= is_new;
		free(memory);
	}
	return result;
}

/* Answers the call when the same library is off by a decision on another name. */
static bool is_off_as_other(struct daemon *daemon, struct call *call, const char *name)
{
	const char *other = kp_registry_disabled_as(daemon->registry, name);
	struct kp_diag diag;

	if (!other)
		return false;
	kp_diag_set(&diag, "disabled_as_other", name,
		"%s is the library that was disabled as %s: enable %s", name, other,
		other);
	call_fail(call, &diag, other);
	return true;
}

static void answer_enable(struct daemon *daemon, struct call *call)
{
	const char *name = kp_json_text(call_parameters(call), "name");
	struct wish wish = {.name = name,
		.what = "enabled",
		.reason = "",
		.keep = true,
		.tells = true};

	/* A name that has left may still be in the list: it is taken out. */
	if (!kp_decisions_find(&daemon->decisions, name) &&
		(!resolves(daemon, call, name) || is_off_as_other(daemon, call, name)))
		return;
	if (kp_decisions_copy(&daemon->decisions, &wish.next) < 0) {
		call_reply(call, NULL);
		return;
	}
	wish.changed = kp_decisions_enable(&wish.next, name);
	if (prove(daemon, name, &wish.next, &wish.changed) < 0) {
		kp_decisions_finish(&wish.next);
		call_reply(call, NULL);
		return;
	}
	commit(daemon, call, &wish);
}

static void enable(struct daemon *daemon, struct call *call)
{
	settle_names(daemon, call, answer_enable);
}

/* ---- IsEnabled ---- */

static void reply_is_enabled(
	struct daemon *daemon, struct call *call, const char *name, const char *plugin)
{
	struct holding holding = holding_of(daemon, name, plugin);

	json_decref(holding.reason);
	call_reply(call, json_pack("{s:s, s:b, s:s}", "name", name, "enabled",
				 holding.enabled, "state", holding.word));
}

/* What has left is known as long as it is disabled: it would come back disabled. */
static void answer_is_enabled(struct daemon *daemon, struct call *call)
{
	const char *name = kp_json_text(call_parameters(call), "name");
	char *plugin = strndup(name, strcspn(name, "/"));

	if (!plugin)
		call_reply(call, NULL);
	else if (kp_decisions_find(&daemon->decisions, name) ||
		 resolves(daemon, call, name))
		reply_is_enabled(daemon, call, name, plugin);
	free(plugin);
}

static void is_enabled(struct daemon *daemon, struct call *call)
{
	settle_names(daemon, call, answer_is_enabled);
}

const struct method method_decide[] = {
	{"Disable", ROLE_OPERATOR, disable},
	{"Enable", ROLE_OPERATOR, enable},
	{"IsEnabled", ROLE_OBSERVER, is_enabled},
	{NULL, ROLE_ADMIN, NULL},
};
