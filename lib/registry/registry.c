/* SPDX-License-Identifier: MIT */
/* The registry's plugins by name, and simple questions about them. */
#include "lib/registry/registry.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/text.h"
#include "lib/registry/registry_plugin.h"
#include "lib/table/table_read.h"

struct kp_registry *kp_registry_new(const struct kp_families *families,
	const struct kp_platform *platform, const struct kp_version *host,
	kp_change_fn *changed, void *context)
{
	struct kp_registry *registry = calloc(1, sizeof(*registry));
	if (!registry)
		return NULL;
	registry->families = families;
	registry->platform = platform;
	registry->host = *host;
	registry->changed = changed;
	registry->context = context;
	registry->dirty = true;
	registry->is_unsettled = true;
	registry->loaded_layer = SIZE_MAX;
	return registry;
}

void kp_plugin_forget(struct kp_plugin *plugin)
{
	kp_plugin_drop_texts(plugin);
	if (plugin->has_verdict)
		kp_verdict_finish(&plugin->verdict);
	plugin->has_verdict = false;
	if (plugin->note)
		kp_note_finish(plugin->note);
	free(plugin->note);
	plugin->note = NULL;
	plugin->has_warnings = false;
	plugin->in_table = false;
}

void kp_plugin_free(struct kp_plugin *plugin)
{
	if (!plugin)
		return;
	kp_plugin_forget(plugin);
	if (plugin->has_manifest)
		kp_manifest_finish(&plugin->manifest);
	free(plugin->name);
	free(plugin->code);
	free(plugin->message);
	free(plugin->suspicion);
	free(plugin);
}

void kp_registry_free(struct kp_registry *registry)
{
	if (!registry)
		return;
	for (size_t i = 0; i < registry->count; i++)
		kp_plugin_free(registry->plugins[i]);
	for (size_t i = 0; i < registry->n_policies; i++)
		free(registry->policies[i].kernel);
	free(registry->plugins);
	free(registry->by_digest.items);
	free(registry->by_package.items);
	free(registry->policies);
	free(registry->bytes);
	free(registry->pack);
	kp_decisions_index_finish(&registry->decided);
	kp_decisions_finish(&registry->decisions);
	free(registry);
}

static int compare_name(const void *name, const void *item)
{
	struct kp_plugin *const *plugin = item;
	return strcmp(name, (*plugin)->name);
}

struct kp_plugin *kp_registry_find(const struct kp_registry *registry, const char *name)
{
	struct kp_plugin *const *found =
		registry->count ? bsearch(name, registry->plugins, registry->count,
					  sizeof(*registry->plugins), compare_name)
				: NULL;
	return found ? *found : NULL;
}

struct kp_plugin *kp_registry_add(struct kp_registry *registry, const char *name)
{
	size_t at = registry->count;
	struct kp_plugin **plugins =
		reallocarray(registry->plugins, registry->count + 1, sizeof(*plugins));
	if (!plugins)
		return NULL;
	registry->plugins = plugins;
	struct kp_plugin *plugin = calloc(1, sizeof(*plugin));
	if (!plugin)
		return NULL;
	plugin->name = strdup(name);
	if (!plugin->name) {
		free(plugin);
		return NULL;
	}
	for (; at > 0 && strcmp(plugins[at - 1]->name, name) > 0; at--)
		plugins[at] = plugins[at - 1];
	plugins[at] = plugin;
	registry->count++;
	return plugin;
}

const struct kp_manifest *kp_registry_manifest(
	const struct kp_registry *registry, const char *plugin)
{
	const struct kp_plugin *found = kp_registry_find(registry, plugin);
	if (!found || !found->has_manifest || found->manifest.error ||
		found->manifest.masked)
		return NULL;
	return &found->manifest;
}

int kp_registry_suspect(struct kp_registry *registry, const char *plugin, const char *why,
	int64_t now, struct kp_diag *diag)
{
	struct kp_plugin *found = kp_registry_find(registry, plugin);

	if (!found || !found->pending)
		return 0;
	char *copy = strdup(why);
	if (!copy)
		return kp_diag_no_memory(diag);
	free(found->suspicion);
	found->suspicion = copy;
	return kp_registry_settle(registry, now, diag);
}

bool kp_registry_again(struct kp_registry *registry, const char *plugin)
{
	struct kp_plugin *found = kp_registry_find(registry, plugin);

	if (!found || !found->has_manifest || !kp_plugin_is_valid(found))
		return false;
	registry->n_pending += !found->pending;
	found->pending = found->todo = true;
	registry->dirty = true;
	return true;
}

void kp_registry_platform_changed(struct kp_registry *registry)
{
	registry->dirty = true;
}

void kp_registry_touch(struct kp_registry *registry)
{
	registry->dirty = true;
}

bool kp_registry_is_dirty(const struct kp_registry *registry)
{
	return registry->dirty;
}

size_t kp_registry_count(const struct kp_registry *registry)
{
	return registry->count;
}

const char *kp_registry_name(const struct kp_registry *registry, size_t i)
{
	return registry->plugins[i]->name;
}

void kp_registry_states(const struct kp_registry *registry, size_t *counts)
{
	memset(counts, 0, KP_STATES * sizeof(*counts));
	for (size_t i = 0; i < registry->count; i++)
		counts[registry->plugins[i]->state]++;
}

static bool is_pending(const struct kp_plugin *plugin)
{
	return plugin->pending && kp_plugin_is_valid(plugin);
}

bool kp_registry_is_pending(const struct kp_registry *registry, const char *name)
{
	if (name) {
		const struct kp_plugin *plugin = kp_registry_find(registry, name);
		return plugin && is_pending(plugin);
	}
	return registry->n_pending > 0;
}

json_t *kp_registry_pending(const struct kp_registry *registry)
{
	json_t *names = json_array();

	for (size_t i = 0; names && i < registry->count; i++) {
		const struct kp_plugin *plugin = registry->plugins[i];
		if (is_pending(plugin))
			names = kp_json_append(names, json_string(plugin->name));
	}
	return names;
}

bool kp_registry_state(
	const struct kp_registry *registry, const char *plugin, enum kp_state *state)
{
	const struct kp_plugin *found = kp_registry_find(registry, plugin);
	if (found)
		*state = found->state;
	return found != NULL;
}

size_t kp_registry_served(
	const struct kp_registry *registry, const struct kp_table *table)
{
	size_t n = 0;

	for (size_t i = 0; i < kp_table_kernels(table); i++) {
		enum kp_state state;
		const char *plugin = kp_table_kernel_plugin(table, i);
		n += kp_registry_state(registry, plugin, &state) &&
		     state == KP_STATE_ACTIVE;
	}
	return n;
}

void kp_registry_set_loaded_layer(struct kp_registry *registry, size_t layer)
{
	registry->loaded_layer = layer;
}

const char *kp_plugin_origin(
	const struct kp_registry *registry, const struct kp_plugin *plugin)
{
	if (!plugin->has_manifest)
		return NULL;
	return plugin->manifest.layer == registry->loaded_layer ? "loaded" : "manifest";
}

bool kp_registry_is_loaded(const struct kp_registry *registry, const char *plugin)
{
	const struct kp_plugin *found = kp_registry_find(registry, plugin);
	return found && found->has_manifest &&
	       found->manifest.layer == registry->loaded_layer;
}

const char *kp_registry_nearest(const struct kp_registry *registry, const char *plugin)
{
	const char **names = calloc(registry->count + 1, sizeof(*names));
	if (!names)
		return NULL;
	for (size_t i = 0; i < registry->count; i++)
		names[i] = registry->plugins[i]->name;
	const char *nearest = kp_text_nearest(plugin, names, registry->count);
	free(names);
	return nearest;
}

bool kp_registry_latest(const struct kp_registry *registry, struct kp_table *table)
{
	if (registry->bytes)
		*table = registry->latest;
	return registry->bytes != NULL;
}

int kp_registry_set_policy(
	struct kp_registry *registry, const char *kernel, int score, struct kp_diag *diag)
{
	if (score < 0 || score >= KP_PRIORITY_END)
		return kp_diag_set(diag, "bad_policy", kernel,
			"a policy score is from 0 to %d, not %d", KP_PRIORITY_END - 1,
			score);
	registry->dirty = true;
	for (size_t i = 0; i < registry->n_policies; i++) {
		if (strcmp(registry->policies[i].kernel, kernel) != 0)
			continue;
		registry->policies[i].score = score;
		return 0;
	}
	struct kp_policy *policies = reallocarray(
		registry->policies, registry->n_policies + 1, sizeof(*policies));
	if (!policies)
		return kp_diag_no_memory(diag);
	registry->policies = policies;
	policies[registry->n_policies].kernel = strdup(kernel);
	if (!policies[registry->n_policies].kernel)
		return kp_diag_no_memory(diag);
	policies[registry->n_policies++].score = score;
	return 0;
}

static int no_such_plugin(
	const struct kp_registry *registry, const char *name, struct kp_diag *diag)
{
	const char *slash = strchr(name, '/');
	size_t length = slash ? (size_t)(slash - name) : strlen(name);
	char plugin[KP_PLUGIN_ID_BYTES];
	char id[KP_PLUGIN_ID_BYTES];
	char offer[KP_TEXT_OFFER];
	size_t kernel;

	(void)snprintf(plugin, sizeof(plugin), "%.*s",
		(int)(length < sizeof(plugin) ? length : sizeof(plugin) - 1), name);
	const char *nearest = kp_registry_nearest(registry, plugin);
	if (nearest && slash && registry->bytes) {
		/* Its kernel, if it has it: the plugin as a whole was not meant. */
		(void)snprintf(id, sizeof(id), "%s%s", nearest, slash);
		if (kp_table_find(&registry->latest, NULL, id, &kernel, NULL) == 0)
			nearest = id;
	}
	return kp_diag_set(diag, "no_such_plugin", plugin, "there is no plugin %s%s",
		plugin, kp_text_meant(nearest, offer));
}

/* Nothing else can be meant where a plugin has no kernels, or none that are known. */
static int no_kernels(
	const struct kp_plugin *plugin, const char *name, struct kp_diag *diag)
{
	if (plugin->state == KP_STATE_ACTIVE)
		return kp_diag_set(diag, "no_such_kernel", name,
			"there is no kernel %s: the plugin %s has none", name,
			plugin->name);
	return kp_diag_set(diag, "no_such_kernel", name,
		"there is no kernel %s now: the plugin %s is %s%s%s", name, plugin->name,
		kp_state_name(plugin->state), plugin->message ? ": " : "",
		plugin->message ? plugin->message : "");
}

int kp_registry_resolve(
	const struct kp_registry *registry, const char *name, struct kp_diag *diag)
{
	size_t length = strcspn(name, "/");
	char text[KP_PLUGIN_ID_BYTES];
	size_t kernel;

	if (length >= sizeof(text))
		return no_such_plugin(registry, name, diag);
	memcpy(text, name, length);
	text[length] = '\0';
	const struct kp_plugin *plugin = kp_registry_find(registry, text);
	if (!plugin)
		return no_such_plugin(registry, name, diag);
	if (!name[length])
		return 0;
	if (kp_registry_kernels(registry, plugin).count == 0)
		return no_kernels(plugin, name, diag);
	return kp_table_find(&registry->latest, NULL, name, &kernel, diag);
}
