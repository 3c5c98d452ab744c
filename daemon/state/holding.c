/* SPDX-License-Identifier: MIT */
/* What holds of a plugin or kernel, by its state and by what operators decided. */
#include "daemon/state/holding.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "lib/base/json.h"
#include "lib/registry/decisions.h"
#include "lib/table/table.h"

/* The state of a kernel that can be off by itself, with its own reason. */
static enum kp_state kernel_state(
	struct daemon *daemon, const char *name, json_t **reason)
{
	const struct kp_table *table = daemon_table(daemon);
	struct kp_entry_state state;
	struct kp_spec spec;
	struct kp_diag diag;
	void *memory;
	size_t i;

	if (kp_table_find(table, NULL, name, &i, &diag) < 0 ||
		kp_table_spec(table, i, &spec, &state, &memory) < 0)
		return KP_STATE_ACTIVE;
	free(memory);
	if (state.code)
		*reason = json_pack("{s:s, s:o}", "code", state.code, "message",
			kp_json_clean_string(state.message ? state.message : ""));
	return state.state;
}

static json_t *plugin_reason(struct daemon *daemon, const char *plugin)
{
	json_t *object = kp_registry_plugin_json(daemon->registry, plugin);
	json_t *reason = json_incref(json_object_get(object, "reason"));

	json_decref(object);
	return reason;
}

/* The decision that holds for it, or NULL: that on the plugin before its own. */
static const struct kp_disabled *decision_on(
	const struct daemon *daemon, const char *name, const char *plugin)
{
	const struct kp_disabled *whole = kp_decisions_find(&daemon->decisions, plugin);
	return whole ? whole : kp_decisions_find(&daemon->decisions, name);
}

struct holding holding_of(struct daemon *daemon, const char *name, const char *plugin)
{
	const struct kp_disabled *decision = decision_on(daemon, name, plugin);
	enum kp_state state = KP_STATE_PENDING;
	struct holding holding = {.reason = NULL};

	daemon_table(daemon);
	(void)kp_registry_state(daemon->registry, plugin, &state);
	if (state == KP_STATE_ACTIVE && strchr(name, '/'))
		state = kernel_state(daemon, name, &holding.reason);
	else
		holding.reason = plugin_reason(daemon, plugin);
	holding.enabled =
		!decision && (state == KP_STATE_ACTIVE || state == KP_STATE_PENDING);
	holding.word = holding.enabled	   ? "enabled"
		       : !decision	   ? kp_state_name(state)
		       : decision->runtime ? "disabled-runtime"
					   : "disabled";
	if (holding.enabled || !holding.reason) {
		json_decref(holding.reason);
		holding.reason = json_null();
	}
	return holding;
}

json_t *holding_add(struct daemon *daemon, const char *name, json_t *reply)
{
	char *plugin = strndup(name, strcspn(name, "/"));
	enum kp_state state;

	if (plugin && reply && kp_registry_state(daemon->registry, plugin, &state)) {
		struct holding holding = holding_of(daemon, name, plugin);
		json_t *more = json_pack("{s:b, s:s, s:o}", "enabled", holding.enabled,
			"state", holding.word, "reason", holding.reason);
		(void)json_object_update(reply, more);
		json_decref(more);
	}
	free(plugin);
	return reply;
}
