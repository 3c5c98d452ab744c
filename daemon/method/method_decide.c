/* SPDX-License-Identifier: MIT */
/* Disable, Enable and IsEnabled of plugins and kernels. */
#include "daemon/method/method.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/application/attached.h"
#include "daemon/daemon.h"
#include "daemon/scan/settle.h"
#include "daemon/state/change.h"
#include "daemon/state/holding.h"
#include "daemon/state/solution.h"
#include "lib/base/json.h"
#include "lib/table/table.h"

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

/* ---- Disable ---- */

static void answer_disable(struct daemon *daemon, struct call *call)
{
	const json_t *parameters = call_parameters(call);
	const char *name = kp_json_text(parameters, "name");
	const char *reason = kp_json_text(parameters, "reason");
	bool runtime = json_is_true(json_object_get(parameters, "runtime"));
	struct wish wish = {.name = name,
		.kind = "disable",
		.what = runtime ? "disabled until the next start" : "disabled",
		.reason = reason ? reason : "",
		.keep = !runtime,
		.tell = attached_add};

	if (solution_is_meant(call)) {
		solution_disable(daemon, call);
		return;
	}
	if (!resolves(daemon, call, name) || !wish_has_good_reason(&wish, call))
		return;
	if (kp_decisions_copy(&daemon->decisions, &wish.next) < 0 ||
		kp_decisions_disable(&wish.next, name, wish.reason, daemon_now(),
			call_uid(call), runtime, &wish.changed) < 0) {
		wish_give_up(&wish, call);
		return;
	}
	/* One that was not changed may still be on its way to the disk: keep again. */
	wish_commit(&wish, daemon, call);
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
		.kind = "enable",
		.what = "enabled",
		.reason = "",
		.keep = true,
		.tell = holding_add};

	if (solution_is_meant(call)) {
		solution_enable(daemon, call);
		return;
	}
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
		wish_give_up(&wish, call);
		return;
	}
	wish_commit(&wish, daemon, call);
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
	else if (solution_is_meant(call))
		solution_is_enabled(daemon, call);
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
