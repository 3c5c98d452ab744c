/* SPDX-License-Identifier: MIT */
/*
 * What state each plugin is in: worked out anew from manifest, decisions,
 * verdict and duplicates, so that it never depends on what came first.
 */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/registry_plugin.h"

bool kp_plugin_is_valid(const struct kp_plugin *plugin)
{
	return !plugin->has_manifest ||
	       (!plugin->manifest.error && !plugin->manifest.masked);
}

static void stand(struct kp_standing *standing, enum kp_state state, const char *code,
	const char *message, const char *source)
{
	standing->state = state;
	standing->code = code;
	standing->message = message;
	standing->source = source;
}

void kp_standing_disabled(struct kp_standing *standing,
	const struct kp_disabled *disabled, const char *name)
{
	bool is_other = strcmp(disabled->name, name) != 0;

	(void)snprintf(standing->text, sizeof(standing->text),
		"disabled by an operator (uid %u)%s%s%s%s%s%s", disabled->uid,
		is_other ? " under the name " : "", is_other ? disabled->name : "",
		is_other ? ", which must be enabled first" : "",
		disabled->runtime ? " until the daemon restarts" : "",
		disabled->reason[0] ? ": " : "", disabled->reason);
	stand(standing, KP_STATE_DISABLED, "disabled_by_operator", standing->text,
		"operator");
}

const char *kp_plugin_package(const struct kp_plugin *plugin)
{
	const char *package =
		json_string_value(json_object_get(plugin->about, "package"));
	return package ? package : "";
}

const struct kp_disabled *kp_registry_kernel_decision(const struct kp_registry *registry,
	const struct kp_plugin *plugin, const char *id)
{
	const struct kp_disabled *own = kp_decisions_find(&registry->decisions, id);
	return own ? own
		   : kp_decisions_find_library(&registry->decisions,
			     plugin->verdict.digest, kp_plugin_package(plugin),
			     strchr(id, '/') + 1);
}

/*
 * On this name, or on the same library or package under another one, which may have
 * no manifest or no verdict now. A duplicate is refused as that.
 */
static const struct kp_disabled *decision_on(
	const struct kp_registry *registry, const struct kp_plugin *plugin)
{
	const struct kp_disabled *own =
		kp_decisions_find(&registry->decisions, plugin->name);

	if (own || !plugin->has_verdict || plugin->original ||
		plugin->verdict.state != KP_STATE_ACTIVE)
		return own;
	return kp_decisions_find_library(&registry->decisions, plugin->verdict.digest,
		kp_plugin_package(plugin), NULL);
}

const char *kp_registry_disabled_as(const struct kp_registry *registry, const char *name)
{
	const char *slash = strchr(name, '/');
	char *text = strndup(name, strcspn(name, "/"));
	const struct kp_plugin *plugin = text ? kp_registry_find(registry, text) : NULL;
	free(text);
	if (!plugin)
		return NULL;
	const struct kp_disabled *holds = decision_on(registry, plugin);
	if (!holds && slash)
		holds = kp_registry_kernel_decision(registry, plugin, name);
	return holds && strcmp(holds->name, name) != 0 &&
			       strcmp(holds->name, plugin->name) != 0
		       ? holds->name
		       : NULL;
}

/* By manifest or decision; false: nobody turned it off. */
static bool is_turned_off(const struct kp_registry *registry,
	const struct kp_plugin *plugin, struct kp_standing *standing)
{
	const struct kp_disabled *disabled = decision_on(registry, plugin);

	if (plugin->has_manifest && plugin->manifest.masked)
		stand(standing, KP_STATE_MASKED, "masked",
			"its manifest is masked: a link to /dev/null, or an empty file",
			"operator");
	else if (plugin->has_manifest && plugin->manifest.error)
		stand(standing, KP_STATE_REJECTED, plugin->manifest.error->code,
			kp_diag_text(plugin->manifest.error, standing->text,
				sizeof(standing->text)),
			"daemon");
	else if (plugin->has_manifest && !plugin->manifest.enabled)
		stand(standing, KP_STATE_DISABLED, "disabled_by_manifest",
			"its manifest says \"enabled\": false", "operator");
	else if (disabled)
		kp_standing_disabled(standing, disabled, plugin->name);
	else if (!plugin->has_manifest && plugin->was_disabled)
		stand(standing, KP_STATE_DISABLED, "disabled",
			"it was disabled before the restart, and its manifest has not "
			"been read yet",
			"daemon");
	else
		return false;
	return true;
}

void kp_plugin_settled(const struct kp_registry *registry, const struct kp_plugin *plugin,
	struct kp_standing *standing)
{
	if (is_turned_off(registry, plugin, standing))
		return;
	if (!plugin->has_verdict) {
		stand(standing, KP_STATE_PENDING, "pending", "it has not been probed yet",
			"daemon");
	} else if (plugin->verdict.state != KP_STATE_ACTIVE) {
		stand(standing, plugin->verdict.state, plugin->verdict.code,
			plugin->verdict.message, "daemon");
	} else if (plugin->original) {
		(void)snprintf(standing->text, sizeof(standing->text),
			"a duplicate of %s: %s%s", plugin->original->name,
			plugin->same_digest ? "the same library"
					    : "the notes have the same name, ",
			plugin->same_digest ? "" : kp_plugin_package(plugin));
		stand(standing, KP_STATE_REJECTED, "duplicate_of", standing->text,
			"daemon");
	} else {
		stand(standing, KP_STATE_ACTIVE, NULL, NULL, NULL);
	}
}

static void standing_of(const struct kp_registry *registry,
	const struct kp_plugin *plugin, struct kp_standing *standing)
{
	if (is_turned_off(registry, plugin, standing))
		return;
	if (plugin->pending)
		stand(standing, KP_STATE_PENDING, "pending",
			plugin->has_verdict ? "it is being probed again"
					    : "it has not been probed yet",
			"daemon");
	else
		kp_plugin_settled(registry, plugin, standing);
}

/*
 * Whom the library and the note's name belong to. What is rejected is no plugin
 * that could be used, and holds no name against others.
 */
static bool can_hold(const struct kp_plugin *plugin)
{
	return kp_plugin_is_valid(plugin) && plugin->has_verdict &&
	       (plugin->verdict.state == KP_STATE_ACTIVE ||
		       plugin->verdict.state == KP_STATE_FAILED ||
		       plugin->verdict.state == KP_STATE_QUARANTINED);
}

static int compare_digests(const void *a, const void *b)
{
	const struct kp_plugin *x = a;
	const struct kp_plugin *y = b;
	return strcmp(x->verdict.digest, y->verdict.digest);
}

static int compare_packages(const void *a, const void *b)
{
	return strcmp(kp_plugin_package(a), kp_plugin_package(b));
}

static void keep(void *plugin)
{
	(void)plugin;
}

/* The first plugin with this key, itself when it is the first; NULL: memory. */
static struct kp_plugin *holder(void **tree, struct kp_plugin *plugin,
	int (*compare)(const void *a, const void *b))
{
	struct kp_plugin *const *node = tsearch(plugin, tree, compare);
	return node ? *node : NULL;
}

/* Plugins come in byte order of name, so the first holder is the one that keeps it. */
static int find_original(void **digests, void **packages, struct kp_plugin *plugin)
{
	struct kp_plugin *by_digest = plugin;
	struct kp_plugin *by_package = plugin;

	plugin->original = NULL;
	plugin->same_digest = false;
	if (!can_hold(plugin))
		return 0;
	if (plugin->verdict.digest[0])
		by_digest = holder(digests, plugin, compare_digests);
	if (kp_plugin_package(plugin)[0])
		by_package = holder(packages, plugin, compare_packages);
	if (!by_digest || !by_package)
		return -1;
	plugin->same_digest = by_digest != plugin;
	if (by_digest != plugin)
		plugin->original = by_digest;
	else if (by_package != plugin)
		plugin->original = by_package;
	return 0;
}

int kp_registry_duplicates(struct kp_registry *registry)
{
	void *digests = NULL;
	void *packages = NULL;
	int result = 0;

	for (size_t i = 0; i < registry->count && result == 0; i++)
		result = find_original(&digests, &packages, registry->plugins[i]);
	tdestroy(digests, keep);
	tdestroy(packages, keep);
	return result;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void tell(const struct kp_registry *registry, const struct kp_plugin *plugin,
	enum kp_state before, bool is_new)
{
	struct kp_change change = {plugin->name, before, plugin->state, is_new, false,
		plugin->code, plugin->message};
	if (registry->changed)
		registry->changed(registry->context, &change);
}

static int take_standing(struct kp_registry *registry, struct kp_plugin *plugin,
	const struct kp_standing *standing, int64_t now)
{
	enum kp_state before = plugin->state;
	bool is_new = !plugin->announced;
	bool changed = is_new || before != standing->state ||
		       !same_text(plugin->code, standing->code);

	if (!changed && same_text(plugin->message, standing->message))
		return 0;
	char *code = standing->code ? strdup(standing->code) : NULL;
	char *message = standing->message ? strdup(standing->message) : NULL;
	if ((standing->code && !code) || (standing->message && !message)) {
		free(code);
		free(message);
		return -1;
	}
	free(plugin->code);
	free(plugin->message);
	plugin->code = code;
	plugin->message = message;
	plugin->state = standing->state;
	plugin->source = standing->source;
	plugin->announced = true;
	registry->dirty = true;
	if (!changed)
		return 0;
	plugin->since = now;
	tell(registry, plugin, is_new ? standing->state : before, is_new);
	return 0;
}

int kp_registry_identify(
	const struct kp_registry *registry, struct kp_decisions *decisions, bool *changed)
{
	for (size_t i = 0; i < decisions->n_disabled; i++) {
		const struct kp_disabled *item = &decisions->disabled[i];
		if (item->digest && item->package)
			continue;
		char *name = strndup(item->name, strcspn(item->name, "/"));
		if (!name)
			return -1;
		const struct kp_plugin *plugin = kp_registry_find(registry, name);
		int result = plugin && plugin->has_verdict
				     ? kp_decisions_identify(decisions, name,
					       plugin->verdict.digest,
					       kp_plugin_package(plugin), changed)
				     : 0;
		free(name);
		if (result < 0)
			return -1;
	}
	return 0;
}

int kp_registry_settle(struct kp_registry *registry, int64_t now, struct kp_diag *diag)
{
	struct kp_standing standing;
	bool changed;

	if (kp_registry_identify(registry, &registry->decisions, &changed) < 0 ||
		kp_registry_duplicates(registry) < 0)
		return kp_diag_no_memory(diag);
	for (size_t i = 0; i < registry->count; i++) {
		standing_of(registry, registry->plugins[i], &standing);
		if (take_standing(registry, registry->plugins[i], &standing, now) < 0)
			return kp_diag_no_memory(diag);
	}
	return 0;
}
