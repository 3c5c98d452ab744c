/* SPDX-License-Identifier: MIT */
/* Plugins that cannot be used and of which nobody knows what they would have been for. */
#include <stdio.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/registry/registry_plugin.h"

enum { NAMED = 8 };

static bool is_unusable(const struct kp_plugin *plugin)
{
	return plugin->state == KP_STATE_REJECTED || plugin->state == KP_STATE_FAILED ||
	       plugin->state == KP_STATE_QUARANTINED || plugin->state == KP_STATE_MISSING;
}

/* A duplicate's kernels are there under the other name. */
static bool is_unknown(const struct kp_plugin *plugin)
{
	return is_unusable(plugin) && !plugin->note && !plugin->in_table &&
	       !plugin->original;
}

static json_t *warning_json(const struct kp_plugin *plugin)
{
	return json_pack("{s:s, s:o}", "code", "not_considered", "message",
		json_sprintf(
			"%s is %s [%s]: what it would have been used for is not known",
			plugin->name, kp_state_name(plugin->state),
			plugin->code ? plugin->code : "unknown"));
}

json_t *kp_registry_unknown(const struct kp_registry *registry)
{
	json_t *list = json_array();
	size_t more = 0;

	for (size_t i = 0; list && i < registry->count; i++) {
		if (!is_unknown(registry->plugins[i]))
			continue;
		if (json_array_size(list) < NAMED)
			list = kp_json_append(list, warning_json(registry->plugins[i]));
		else
			more++;
	}
	if (list && more > 0)
		list = kp_json_append(
			list, json_pack("{s:s, s:o}", "code", "not_considered", "message",
				      json_sprintf("and %zu more plugins cannot be used",
					      more)));
	return list;
}
