/* SPDX-License-Identifier: MIT */
/*
 * Texts of plugins in one piece of memory. Each came with a verdict, among much that
 * was soon freed: where they lie they hold on to the pages around them.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/registry/registry_plugin.h"

enum { TEXTS = 5 };

/* The texts of a plugin that a verdict brings. */
static void texts_of(struct kp_plugin *plugin, char **texts[TEXTS])
{
	texts[0] = &plugin->package;
	texts[1] = &plugin->version;
	texts[2] = &plugin->told;
	texts[3] = &plugin->machine;
	texts[4] = &plugin->verdict.stored;
}

static size_t size_of(struct kp_plugin *plugin)
{
	char **texts[TEXTS];
	size_t size = 0;

	texts_of(plugin, texts);
	for (size_t i = 0; i < TEXTS; i++)
		size += *texts[i] ? strlen(*texts[i]) + 1 : 0;
	return size;
}

static char *move(struct kp_plugin *plugin, char *to)
{
	char **texts[TEXTS];

	texts_of(plugin, texts);
	for (size_t i = 0; i < TEXTS; i++) {
		if (!*texts[i])
			continue;
		size_t size = strlen(*texts[i]) + 1;
		memcpy(to, *texts[i], size);
		if (!plugin->is_packed)
			free(*texts[i]);
		*texts[i] = to;
		to += size;
	}
	plugin->is_packed = true;
	return to;
}

int kp_registry_pack(struct kp_registry *registry)
{
	size_t size = 0;

	for (size_t i = 0; i < registry->count; i++)
		size += size_of(registry->plugins[i]);
	char *pack = malloc(size + 1);
	if (!pack)
		return -1;
	char *at = pack;
	for (size_t i = 0; i < registry->count; i++)
		at = move(registry->plugins[i], at);
	free(registry->pack);
	registry->pack = pack;
	return 0;
}

void kp_plugin_drop_texts(struct kp_plugin *plugin)
{
	char **texts[TEXTS];

	texts_of(plugin, texts);
	for (size_t i = 0; i < TEXTS; i++) {
		if (!plugin->is_packed)
			free(*texts[i]);
		*texts[i] = NULL;
	}
	plugin->is_packed = false;
}
