/* SPDX-License-Identifier: MIT */
/* A set of plugins that want another try. */
#include "daemon/scan/wanting.h"

#include <string.h>

#include "daemon/scan/news.h"
#include "lib/registry/registry.h"

void wanting_note(json_t *wanting, const char *plugin, const struct kp_verdict *verdict)
{
	if (verdict->retry && (strcmp(verdict->code, "write_failed") == 0 ||
				      strcmp(verdict->code, "no_memory") == 0))
		news_put(wanting, plugin);
	else
		(void)json_object_del(wanting, plugin);
}

bool wanting_mark(json_t *wanting, struct kp_registry *registry)
{
	const char *plugin;
	json_t *value;
	bool found = false;

	json_object_foreach (wanting, plugin, value)
		found |= kp_registry_again(registry, plugin);
	(void)json_object_clear(wanting);
	return found;
}
