/* SPDX-License-Identifier: MIT */
/*
 * What state each plugin is in: worked out anew from manifest, decisions,
 * verdict and duplicates, so that it never depends on what came first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/plugin/told.h"
#include "lib/registry/registry_plugin.h"

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
	standing->since = 0;
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
	standing->since = disabled->at;
}

void kp_standing_ruled(struct kp_standing *standing, const struct kp_rule *rule)
{
	(void)snprintf(standing->text, sizeof(standing->text),
		"the solution %s of %s was disabled by an operator (uid %u)%s%s%s",
		rule->solution, rule->operation, rule->uid,
		rule->runtime ? " until the daemon restarts" : "",
		rule->reason[0] ? ": " : "", rule->reason);
	stand(standing, KP_STATE_DISABLED, "solution_disabled", standing->text,
		"operator");
}

void kp_standing_quarantined(
	struct kp_standing *standing, const struct kp_quarantine *quarantine)
{
	char text[KP_QUARANTINE_TEXT];

	(void)snprintf(standing->text, sizeof(standing->text), "%s",
		kp_quarantine_text(quarantine, text));
	stand(standing, KP_STATE_QUARANTINED, "repeated_crashes", standing->text,
		"daemon");
}

const char *kp_plugin_package(const struct kp_plugin *plugin)
{
	return plugin->package ? plugin->package : "";
}

const struct kp_disabled *kp_registry_kernel_decision(const struct kp_registry *registry,
	const struct kp_plugin *plugin, const char *id)
{
	const struct kp_disabled *own = kp_decisions_find(&registry->decisions, id);
	return own ? own
		   : kp_decisions_find_library(&registry->decided, &registry->decisions,
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
	return kp_decisions_find_library(&registry->decided, &registry->decisions,
		plugin->verdict.digest, kp_plugin_package(plugin), NULL);
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

/* What cannot be used anyway is shown as that: turned off, its failure would be hidden.
 */
static bool has_failed(const struct kp_plugin *plugin)
{
	return plugin->has_verdict && !plugin->pending &&
	       plugin->verdict.state != KP_STATE_ACTIVE;
}

/* By manifest or decision; false: nobody turned it off, or it matters less. */
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
	else if (disabled && !has_failed(plugin))
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
	if (plugin->pending && plugin->suspicion)
		stand(standing, KP_STATE_PENDING, "suspect", plugin->suspicion, "daemon");
	else if (plugin->pending)
		stand(standing, KP_STATE_PENDING, "pending",
			plugin->has_verdict ? "it is being probed again"
					    : "it has not been probed yet",
			"daemon");
	else
		kp_plugin_settled(registry, plugin, standing);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void tell(const struct kp_registry *registry, const struct kp_plugin *plugin,
	enum kp_state before, bool is_new)
{
	struct kp_change change = {plugin->name, before, plugin->state, is_new, false,
		plugin->code, plugin->message, NULL};
	if (!registry->changed)
		return;
	json_t *told = plugin->has_warnings ? kp_told_read(plugin->told) : NULL;
	change.warnings = json_object_get(told, "warnings");
	registry->changed(registry->context, &change);
	json_decref(told);
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
	plugin->since = standing->since ? standing->since : now;
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

static int settle_plugin(
	struct kp_registry *registry, struct kp_plugin *plugin, int64_t now)
{
	struct kp_standing standing;

	standing_of(registry, plugin, &standing);
	return take_standing(registry, plugin, &standing, now);
}

static void count_pending(struct kp_registry *registry)
{
	registry->n_pending = 0;
	for (size_t i = 0; i < registry->count; i++)
		registry->n_pending += registry->plugins[i]->pending &&
				       kp_plugin_is_valid(registry->plugins[i]);
}

int kp_registry_settle(struct kp_registry *registry, int64_t now, struct kp_diag *diag)
{
	bool changed;

	count_pending(registry);
	registry->is_unsettled = true;
	if (kp_registry_identify(registry, &registry->decisions, &changed) < 0 ||
		kp_decisions_index_make(&registry->decided, &registry->decisions) < 0 ||
		kp_registry_duplicates(registry) < 0)
		return kp_diag_no_memory(diag);
	for (size_t i = 0; i < registry->count; i++)
		if (settle_plugin(registry, registry->plugins[i], now) < 0)
			return kp_diag_no_memory(diag);
	registry->is_unsettled = false;
	return 0;
}

/* All with this key, where the first of them, or what was decided of them, has changed.
 */
static int settle_holders(struct kp_registry *registry, const struct kp_holders *holders,
	const char *key, int64_t now)
{
	for (size_t i = kp_holders_first(holders, key); kp_holders_has(holders, i, key);
		i++) {
		kp_plugin_find_original(registry, holders->items[i]);
		if (settle_plugin(registry, holders->items[i], now) < 0)
			return -1;
	}
	return 0;
}

int kp_registry_settle_one(struct kp_registry *registry, struct kp_plugin *plugin,
	const struct kp_claim *before, int64_t now)
{
	struct kp_claim after;
	bool identified = false;
	int result = 0;

	/* What it claims now, to see who had it before it did. */
	kp_claim_take(registry, plugin, &after);
	if (kp_holders_join(registry, plugin) < 0 ||
		kp_decisions_identify(&registry->decisions, plugin->name,
			plugin->verdict.digest, kp_plugin_package(plugin),
			&identified) < 0 ||
		(identified && kp_decisions_index_make(
				       &registry->decided, &registry->decisions) < 0))
		return -1;
	kp_plugin_find_original(registry, plugin);
	const struct kp_claim *const claims[] = {before, &after};
	for (size_t i = 0; i < 2 && result == 0; i++) {
		if (identified || kp_claim_digest_moved(registry, claims[i]))
			result = settle_holders(
				registry, &registry->by_digest, claims[i]->digest, now);
		if (result == 0 &&
			(identified || kp_claim_package_moved(registry, claims[i])))
			result = settle_holders(
				registry, &registry->by_package, claims[i]->package, now);
	}
	return result < 0 ? result : settle_plugin(registry, plugin, now);
}
