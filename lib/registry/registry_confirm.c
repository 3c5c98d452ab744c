/* SPDX-License-Identifier: MIT */
/* Verdicts of an earlier run that are known to hold still, and what is kept of them. */
#include <stdlib.h>
#include <string.h>

#include "lib/registry/registry_plugin.h"

static bool can_be_confirmed(const struct kp_plugin *plugin)
{
	return plugin->has_manifest && kp_plugin_is_valid(plugin) &&
	       plugin->has_verdict && plugin->in_table &&
	       plugin->verdict.state == KP_STATE_ACTIVE;
}

bool kp_registry_library(const struct kp_registry *registry, const char *plugin,
	struct kp_library *library)
{
	const struct kp_plugin *found = kp_registry_find(registry, plugin);

	if (!found || found->pending || !found->told || !can_be_confirmed(found))
		return false;
	*library = (struct kp_library){found->verdict.digest, found->verdict.closure,
		found->told, found->verdict.bytes};
	return true;
}

static const char *text_of(const char *text)
{
	return text ? text : "";
}

bool kp_registry_stored(
	const struct kp_registry *registry, const char *plugin, struct kp_stored *stored)
{
	const struct kp_plugin *found = kp_registry_find(registry, plugin);

	if (!found || found->pending || !found->has_verdict || !found->verdict.stored ||
		!found->verdict.closure[0])
		return false;
	*stored = (struct kp_stored){found->verdict.state, found->verdict.code,
		text_of(found->verdict.message), found->verdict.stored,
		found->verdict.closure, found->verdict.digest, text_of(found->version),
		found->verdict.bytes};
	return true;
}

const char *kp_registry_closure(const struct kp_registry *registry, const char *plugin)
{
	const struct kp_plugin *found = kp_registry_find(registry, plugin);

	return found && found->has_verdict ? found->verdict.closure : "";
}

/* Its texts are those of the restored table: nothing has been told of it yet. */
static bool is_the_same(const struct kp_plugin *plugin, const struct kp_confirmed *item)
{
	return plugin && plugin->pending && !plugin->told && !plugin->is_packed &&
	       can_be_confirmed(plugin) &&
	       strcmp(plugin->manifest.digest, item->manifest_digest) == 0 &&
	       strcmp(plugin->verdict.digest, item->digest) == 0 &&
	       strcmp(plugin->verdict.closure, item->closure) == 0;
}

/* They are the last that is told (lib/plugin/told.c). */
static bool has_warnings(const char *told)
{
	static const char none[] = "\"warnings\":[]}";
	size_t length = strlen(told);

	return length < sizeof(none) ||
	       strcmp(told + length - (sizeof(none) - 1), none) != 0;
}

static int confirm(struct kp_plugin *plugin, struct kp_confirmed *item)
{
	plugin->told = strdup(item->told);
	if (!plugin->told)
		return -1;
	plugin->has_warnings = has_warnings(item->told);
	plugin->verdict.bytes = item->bytes;
	plugin->pending = plugin->todo = false;
	item->accepted = true;
	return 0;
}

int kp_registry_confirm(struct kp_registry *registry, struct kp_confirmed *items,
	size_t count, int64_t now, struct kp_diag *diag)
{
	for (size_t i = 0; i < count; i++) {
		struct kp_plugin *plugin = kp_registry_find(registry, items[i].plugin);
		items[i].accepted = false;
		if (is_the_same(plugin, &items[i]) && confirm(plugin, &items[i]) < 0)
			return kp_diag_no_memory(diag);
	}
	registry->dirty = true;
	return kp_registry_settle(registry, now, diag);
}

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool stands_as_written(
	const struct kp_table *table, size_t i, const struct kp_plugin *plugin)
{
	const unsigned char *record = kp_table_record(table, KP_SECTION_PLUGINS, i);
	const char *code, *message, *source;

	kp_table_reason(
		table, kp_load32(record + KP_PLUGIN_REASON), &code, &message, &source);
	return strcmp(kp_table_text(table, kp_load32(record + KP_PLUGIN_NAME)),
		       plugin->name) == 0 &&
	       record[KP_PLUGIN_STATE] == plugin->state && plugin->told &&
	       !plugin->pending && !plugin->note && can_be_confirmed(plugin) &&
	       same_text(code, plugin->code) && same_text(message, plugin->message) &&
	       same_text(source, plugin->source);
}

bool kp_registry_adopt(struct kp_registry *registry)
{
	if (!registry->bytes || registry->n_policies > 0 || registry->is_unsettled ||
		kp_table_plugins(&registry->latest) != registry->count)
		return false;
	for (size_t i = 0; i < registry->count; i++)
		if (!stands_as_written(&registry->latest, i, registry->plugins[i]))
			return false;
	registry->dirty = false;
	return true;
}
