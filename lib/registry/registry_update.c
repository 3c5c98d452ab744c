/* SPDX-License-Identifier: MIT */
/* Bringing the registry in line with manifests and decisions. */
#include <stdlib.h>
#include <string.h>

#include "lib/registry/registry_plugin.h"

static bool is_forced(const char *force, const char *name)
{
	return force && (!force[0] || strcmp(force, name) == 0);
}

static bool is_same(const struct kp_plugin *plugin, const struct kp_manifest *manifest)
{
	return plugin->has_manifest && plugin->manifest.masked == manifest->masked &&
	       !plugin->manifest.error == !manifest->error &&
	       strcmp(plugin->manifest.digest, manifest->digest) == 0 &&
	       strcmp(plugin->manifest.path, manifest->path) == 0 &&
	       kp_manifest_same_stored(&plugin->manifest, manifest);
}

/* Does what it says, or only where it is, differ? */
static bool is_same_text(
	const struct kp_plugin *plugin, const struct kp_manifest *manifest)
{
	return plugin->has_manifest && plugin->has_verdict &&
	       plugin->manifest.masked == manifest->masked && !plugin->manifest.error &&
	       !manifest->error &&
	       strcmp(plugin->manifest.digest, manifest->digest) == 0 &&
	       kp_manifest_same_stored(&plugin->manifest, manifest);
}

static int take_manifest(struct kp_plugin *plugin, const struct kp_manifest *manifest)
{
	struct kp_manifest copy;

	if (kp_manifest_copy(manifest, &copy) < 0)
		return -1;
	if (plugin->has_manifest)
		kp_manifest_finish(&plugin->manifest);
	plugin->manifest = copy;
	plugin->has_manifest = true;
	return 0;
}

static int update_plugin(struct kp_registry *registry, const struct kp_manifest *manifest,
	const char *force)
{
	struct kp_plugin *plugin = kp_registry_find(registry, manifest->name);

	if (!plugin)
		plugin = kp_registry_add(registry, manifest->name);
	if (!plugin)
		return -1;
	if (is_same(plugin, manifest) && !is_forced(force, manifest->name))
		return 0;
	bool again = !is_same_text(plugin, manifest) || is_forced(force, manifest->name);
	if (take_manifest(plugin, manifest) < 0)
		return -1;
	registry->dirty = true;
	if (!kp_plugin_is_valid(plugin)) {
		kp_plugin_forget(plugin);
		plugin->pending = plugin->todo = false;
	} else if (again) {
		plugin->pending = plugin->todo = true;
	}
	return 0;
}

static void remove_plugin(struct kp_registry *registry, size_t i)
{
	struct kp_plugin *plugin = registry->plugins[i];
	struct kp_change change = {plugin->name, plugin->state, plugin->state, false,
		true, plugin->code, plugin->message, NULL};

	registry->count--;
	memmove(registry->plugins + i, registry->plugins + i + 1,
		(registry->count - i) * sizeof(const void *));
	registry->dirty = true;
	if (registry->changed && plugin->announced)
		registry->changed(registry->context, &change);
	kp_plugin_free(plugin);
}

static void remove_vanished(
	struct kp_registry *registry, const struct kp_manifests *manifests)
{
	for (size_t i = registry->count; i-- > 0;)
		if (!kp_manifests_find(manifests, registry->plugins[i]->name))
			remove_plugin(registry, i);
}

static void free_names(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

/* The marks stay until all names are there: nothing is lost to want of memory. */
static int hand_out(struct kp_registry *registry, char ***todo, size_t *n_todo)
{
	char **names = calloc(registry->count + 1, sizeof(*names));
	size_t n = 0;

	if (!names)
		return -1;
	for (size_t i = 0; i < registry->count; i++) {
		if (!registry->plugins[i]->todo)
			continue;
		names[n] = strdup(registry->plugins[i]->name);
		if (!names[n++]) {
			free_names(names, n);
			return -1;
		}
	}
	for (size_t i = 0; i < registry->count; i++)
		registry->plugins[i]->todo = false;
	*todo = names;
	*n_todo = n;
	return 0;
}

int kp_registry_update(struct kp_registry *registry, const struct kp_manifests *manifests,
	const char *force, int64_t now, char ***todo, size_t *n_todo,
	struct kp_diag *diag)
{
	/* Until all is settled it is not known any more who holds what. */
	registry->is_unsettled = true;
	remove_vanished(registry, manifests);
	for (size_t i = 0; i < manifests->count; i++)
		if (update_plugin(registry, &manifests->items[i], force) < 0)
			return kp_diag_no_memory(diag);
	if (kp_registry_settle(registry, now, diag) < 0)
		return -1;
	return hand_out(registry, todo, n_todo) < 0 ? kp_diag_no_memory(diag) : 0;
}

int kp_registry_decide(struct kp_registry *registry, const struct kp_decisions *decisions,
	int64_t now, struct kp_diag *diag)
{
	struct kp_decisions copy;

	if (kp_decisions_copy(decisions, &copy) < 0)
		return kp_diag_no_memory(diag);
	kp_decisions_index_finish(&registry->decided);
	kp_decisions_finish(&registry->decisions);
	registry->decisions = copy;
	registry->dirty = true;
	return kp_registry_settle(registry, now, diag);
}
