/* SPDX-License-Identifier: MIT */
/* Plugins and kernels that were disabled, and unproven ones that were enabled. */
#include "lib/registry/decisions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sorted.h"
#include "lib/registry/decisions_kind.h"

static struct kp_sorted disabled_list(const struct kp_decisions *d)
{
	return (struct kp_sorted){
		(char *)d->disabled, d->n_disabled, sizeof(*d->disabled)};
}

static struct kp_sorted enabled_list(const struct kp_decisions *d)
{
	return (struct kp_sorted){(char *)d->enabled, d->n_enabled, sizeof(*d->enabled)};
}

/* Replaces an owned text; *changed is set when it differs. */
int kp_decisions_replace(char **text, const char *wanted, bool *changed)
{
	assert(text);
	if (*text && strcmp(*text, wanted) == 0)
		return 0;
	char *copy = strdup(wanted);
	if (!copy)
		return -1;
	free(*text);
	*text = copy;
	*changed = true;
	return 0;
}

static int change_disabled(struct kp_disabled *item, const char *reason, int64_t at,
	uint32_t uid, bool runtime, bool *changed)
{
	assert(item);
	bool differs = item->runtime && !runtime;

	*changed = false;
	if (runtime && !item->runtime)
		return 0;
	if (reason[0] && kp_decisions_replace(&item->reason, reason, &differs) < 0)
		return -1;
	if (differs) {
		item->at = at;
		item->uid = uid;
		item->runtime = runtime;
	}
	*changed = differs;
	return 0;
}

static void free_disabled(struct kp_disabled *item)
{
	free(item->name);
	free(item->reason);
	free(item->digest);
	free(item->package);
}

int kp_decisions_disable(struct kp_decisions *decisions, const char *name,
	const char *reason, int64_t at, uint32_t uid, bool runtime, bool *changed)
{
	struct kp_sorted list = disabled_list(decisions);
	bool found;
	size_t i = kp_sorted_place(&list, name, &found);

	if (!reason)
		reason = "";
	if (found)
		return change_disabled(
			&decisions->disabled[i], reason, at, uid, runtime, changed);
	struct kp_disabled item = {
		strdup(name), strdup(reason), NULL, NULL, at, uid, runtime};
	if (!item.name || !item.reason || kp_sorted_open(&list, i) < 0) {
		free_disabled(&item);
		return -1;
	}
	decisions->disabled = (struct kp_disabled *)(void *)list.base;
	decisions->disabled[i] = item;
	decisions->n_disabled = list.count;
	*changed = true;
	return 0;
}

bool kp_decisions_enable(struct kp_decisions *decisions, const char *name)
{
	struct kp_sorted list = disabled_list(decisions);
	bool found;
	size_t i = kp_sorted_place(&list, name, &found);

	if (!found)
		return false;
	free_disabled(&decisions->disabled[i]);
	kp_sorted_close(&list, i);
	decisions->n_disabled = list.count;
	return true;
}

const struct kp_disabled *kp_decisions_find(
	const struct kp_decisions *decisions, const char *name)
{
	struct kp_sorted list = disabled_list(decisions);
	bool found;
	size_t i = kp_sorted_place(&list, name, &found);
	return found ? &decisions->disabled[i] : NULL;
}

/* Is the decision on this plugin or on one of its kernels? */
static bool is_of(const struct kp_disabled *item, const char *plugin)
{
	size_t length = strlen(plugin);
	return strncmp(item->name, plugin, length) == 0 &&
	       (item->name[length] == '\0' || item->name[length] == '/');
}

static int fill(char **text, const char *known, bool *changed)
{
	return *text || !known || !known[0] ? 0
					    : kp_decisions_replace(text, known, changed);
}

int kp_decisions_identify(struct kp_decisions *decisions, const char *plugin,
	const char *digest, const char *package, bool *changed)
{
	for (size_t i = 0; i < decisions->n_disabled; i++) {
		struct kp_disabled *item = &decisions->disabled[i];
		if (!is_of(item, plugin))
			continue;
		if (fill(&item->digest, digest, changed) < 0 ||
			fill(&item->package, package, changed) < 0)
			return -1;
	}
	return 0;
}

static int copy_disabled(const struct kp_disabled *from, struct kp_decisions *to)
{
	bool changed;

	if (kp_decisions_disable(to, from->name, from->reason, from->at, from->uid,
		    from->runtime, &changed) < 0)
		return -1;
	struct kp_sorted list = disabled_list(to);
	struct kp_disabled *item =
		&to->disabled[kp_sorted_place(&list, from->name, &changed)];
	return fill(&item->digest, from->digest, &changed) < 0
		       ? -1
		       : fill(&item->package, from->package, &changed);
}

int kp_decisions_copy(const struct kp_decisions *from, struct kp_decisions *to)
{
	struct kp_decisions copy = {0};
	bool changed;
	int result = 0;

	for (size_t i = 0; i < from->n_disabled && result == 0; i++)
		result = copy_disabled(&from->disabled[i], &copy);
	if (result == 0)
		result = kp_decisions_copy_pins(from, &copy);
	if (result == 0)
		result = kp_decisions_copy_rules(from, &copy);
	if (result == 0)
		result = kp_decisions_copy_guards(from, &copy);
	if (result == 0)
		result = kp_decisions_copy_quarantined(from, &copy);
	if (result == 0)
		result = kp_decisions_copy_rollbacks(from, &copy);
	for (size_t i = 0; i < from->n_enabled && result == 0; i++)
		result = kp_decisions_prove(&copy, from->enabled[i], true, &changed);
	if (result < 0)
		kp_decisions_finish(&copy);
	else
		*to = copy;
	return result;
}

static int add_enabled(struct kp_decisions *decisions, struct kp_sorted *list, size_t i,
	const char *name)
{
	char *copy = strdup(name);
	if (!copy || kp_sorted_open(list, i) < 0) {
		free(copy);
		return -1;
	}
	decisions->enabled = (char **)(void *)list->base;
	decisions->enabled[i] = copy;
	return 0;
}

int kp_decisions_prove(
	struct kp_decisions *decisions, const char *name, bool proven, bool *changed)
{
	struct kp_sorted list = enabled_list(decisions);
	bool found;
	size_t i = kp_sorted_place(&list, name, &found);

	if (found && !proven) {
		free(decisions->enabled[i]);
		kp_sorted_close(&list, i);
	} else if (!found && proven && add_enabled(decisions, &list, i, name) < 0) {
		return -1;
	}
	decisions->n_enabled = list.count;
	*changed = found != proven;
	return 0;
}

bool kp_decisions_is_proven(const struct kp_decisions *decisions, const char *name)
{
	struct kp_sorted list = enabled_list(decisions);
	bool found;
	(void)kp_sorted_place(&list, name, &found);
	return found;
}

void kp_decisions_finish(struct kp_decisions *decisions)
{
	if (!decisions)
		return;
	for (size_t i = 0; i < decisions->n_disabled; i++)
		free_disabled(&decisions->disabled[i]);
	for (size_t i = 0; i < decisions->n_enabled; i++)
		free(decisions->enabled[i]);
	free(decisions->disabled);
	kp_decisions_finish_pins(decisions);
	kp_decisions_finish_rules(decisions);
	kp_decisions_finish_guards(decisions);
	kp_decisions_finish_quarantined(decisions);
	kp_decisions_finish_rollbacks(decisions);
	free(decisions->enabled);
	*decisions = (struct kp_decisions){0};
}
