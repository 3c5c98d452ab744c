/* SPDX-License-Identifier: MIT */
/* Starting from the last good table: what it knew is served until the scan is done. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/registry/registry_plugin.h"

static const char *text_at(
	const struct kp_table *table, const unsigned char *record, unsigned field)
{
	return kp_table_text(table, kp_load32(record + field));
}

static char *copy_or_null(const char *text, int *failed)
{
	if (!text || !text[0])
		return NULL;
	char *copy = strdup(text);
	*failed |= !copy;
	return copy;
}

static int restore_verdict(const struct kp_table *table, const unsigned char *record,
	struct kp_plugin *plugin)
{
	struct kp_verdict *verdict = &plugin->verdict;
	const char *code, *message, *source;
	int failed = 0;

	plugin->has_verdict = true;
	verdict->state = record[KP_PLUGIN_VERDICT];
	/* How long a probe took is not in a table. */
	verdict->probe_ms = -1;
	kp_table_reason(
		table, kp_load32(record + KP_PLUGIN_FOUND), &code, &message, &source);
	(void)snprintf(verdict->code, sizeof(verdict->code), "%s", code ? code : "");
	verdict->message = copy_or_null(message, &failed);
	plugin->machine =
		copy_or_null(text_at(table, record, KP_PLUGIN_MACHINE), &failed);
	verdict->stored = copy_or_null(text_at(table, record, KP_PLUGIN_STORED), &failed);
	(void)snprintf(verdict->digest, sizeof(verdict->digest), "%s",
		text_at(table, record, KP_PLUGIN_DIGEST));
	(void)snprintf(verdict->closure, sizeof(verdict->closure), "%s",
		text_at(table, record, KP_PLUGIN_CLOSURE));
	return failed ? -1 : 0;
}

static int restore_about(const struct kp_table *table, const unsigned char *record,
	struct kp_plugin *plugin)
{
	const char *package = text_at(table, record, KP_PLUGIN_PACKAGE);

	if (!package[0])
		return 0;
	plugin->package = strdup(package);
	plugin->version = strdup(text_at(table, record, KP_PLUGIN_VERSION));
	return plugin->package && plugin->version ? 0 : -1;
}

static int restore_plugin(struct kp_registry *registry, const unsigned char *record)
{
	const struct kp_table *table = &registry->latest;
	struct kp_plugin *plugin =
		kp_registry_add(registry, text_at(table, record, KP_PLUGIN_NAME));

	if (!plugin)
		return -1;
	plugin->pending = true;
	plugin->was_disabled = record[KP_PLUGIN_STATE] == KP_STATE_DISABLED;
	/* It never had a verdict: there is nothing to serve. */
	if (record[KP_PLUGIN_VERDICT] == KP_STATE_PENDING)
		return 0;
	plugin->in_table = true;
	if (restore_verdict(table, record, plugin) < 0)
		return -1;
	return restore_about(table, record, plugin);
}

int kp_registry_restore(struct kp_registry *registry, const void *bytes, size_t size,
	struct kp_diag *diag)
{
	struct kp_table table;

	assert(registry->count == 0);
	if (kp_table_open(bytes, size, &table, diag) < 0)
		return -1;
	void *copy = malloc(size);
	if (!copy)
		return kp_diag_no_memory(diag);
	memcpy(copy, bytes, size);
	free(registry->bytes);
	registry->bytes = copy;
	registry->latest = (struct kp_table){copy, size};
	registry->dirty = true;
	for (size_t i = 0; i < kp_table_plugins(&registry->latest); i++)
		if (restore_plugin(registry, kp_table_record(&registry->latest,
						     KP_SECTION_PLUGINS, i)) < 0)
			return kp_diag_no_memory(diag);
	return kp_registry_settle(registry, 0, diag);
}
