/* SPDX-License-Identifier: MIT */
/* Sorted lists of what operators decided; the text of them is in decisions_text.c. */
#include "lib/decisions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"

/* A list whose items start with their key, in byte order of it. */
struct list {
	char *base;
	size_t count, width;
};

/* Where the key is or would be; *found says which. */
static size_t place(const struct list *list, const char *key, bool *found)
{
	const char *at = list->count ? bsearch(&key, list->base, list->count, list->width,
					       kp_text_compare)
				     : NULL;
	size_t i = list->count;

	*found = at != NULL;
	if (at)
		return (size_t)(at - list->base) / list->width;
	while (i > 0 && kp_text_compare(list->base + (i - 1) * list->width, &key) > 0)
		i--;
	return i;
}

/* Makes room for one item at `at`, zeroed. The base may move. */
static int open_gap(struct list *list, size_t at)
{
	char *base = reallocarray(list->base, list->count + 1, list->width);
	if (!base)
		return -1;
	char *gap = base + at * list->width;
	memmove(gap + list->width, gap, (list->count - at) * list->width);
	memset(gap, 0, list->width);
	list->base = base;
	list->count++;
	return 0;
}

static void close_gap(struct list *list, size_t at)
{
	char *gap = list->base + at * list->width;
	list->count--;
	memmove(gap, gap + list->width, (list->count - at) * list->width);
}

static struct list disabled_list(const struct kp_decisions *d)
{
	return (struct list){(char *)d->disabled, d->n_disabled, sizeof(*d->disabled)};
}

static struct list pin_list(const struct kp_decisions *d)
{
	return (struct list){(char *)d->pins, d->n_pins, sizeof(*d->pins)};
}

static struct list enabled_list(const struct kp_decisions *d)
{
	return (struct list){(char *)d->enabled, d->n_enabled, sizeof(*d->enabled)};
}

/* Replaces an owned text; *changed is set when it differs. */
static int replace(char **text, const char *wanted, bool *changed)
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
	if (reason[0] && replace(&item->reason, reason, &differs) < 0)
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
	struct list list = disabled_list(decisions);
	bool found;
	size_t i = place(&list, name, &found);

	if (!reason)
		reason = "";
	if (found)
		return change_disabled(
			&decisions->disabled[i], reason, at, uid, runtime, changed);
	struct kp_disabled item = {
		strdup(name), strdup(reason), NULL, NULL, at, uid, runtime};
	if (!item.name || !item.reason || open_gap(&list, i) < 0) {
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
	struct list list = disabled_list(decisions);
	bool found;
	size_t i = place(&list, name, &found);

	if (!found)
		return false;
	free_disabled(&decisions->disabled[i]);
	close_gap(&list, i);
	decisions->n_disabled = list.count;
	return true;
}

const struct kp_disabled *kp_decisions_find(
	const struct kp_decisions *decisions, const char *name)
{
	struct list list = disabled_list(decisions);
	bool found;
	size_t i = place(&list, name, &found);
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
	return *text || !known || !known[0] ? 0 : replace(text, known, changed);
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

static bool is_same(const char *kept, const char *given)
{
	return kept && given && strcmp(kept, given) == 0;
}

const struct kp_disabled *kp_decisions_find_library(const struct kp_decisions *decisions,
	const char *digest, const char *package, const char *kernel)
{
	for (size_t i = 0; i < decisions->n_disabled; i++) {
		const struct kp_disabled *item = &decisions->disabled[i];
		const char *slash = strchr(item->name, '/');
		if (kernel ? !slash || strcmp(slash + 1, kernel) != 0 : slash != NULL)
			continue;
		if (is_same(item->digest, digest) || is_same(item->package, package))
			return item;
	}
	return NULL;
}

static int copy_disabled(const struct kp_disabled *from, struct kp_decisions *to)
{
	bool changed;

	if (kp_decisions_disable(to, from->name, from->reason, from->at, from->uid,
		    from->runtime, &changed) < 0)
		return -1;
	struct list list = disabled_list(to);
	struct kp_disabled *item = &to->disabled[place(&list, from->name, &changed)];
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
	for (size_t i = 0; i < from->n_pins && result == 0; i++) {
		const struct kp_pin *pin = &from->pins[i];
		result = kp_decisions_pin(
			&copy, pin->operation, pin->choice, pin->at, pin->uid, &changed);
	}
	for (size_t i = 0; i < from->n_enabled && result == 0; i++)
		result = kp_decisions_prove(&copy, from->enabled[i], true, &changed);
	if (result < 0)
		kp_decisions_finish(&copy);
	else
		*to = copy;
	return result;
}

static int add_enabled(
	struct kp_decisions *decisions, struct list *list, size_t i, const char *name)
{
	char *copy = strdup(name);
	if (!copy || open_gap(list, i) < 0) {
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
	struct list list = enabled_list(decisions);
	bool found;
	size_t i = place(&list, name, &found);

	if (found && !proven) {
		free(decisions->enabled[i]);
		close_gap(&list, i);
	} else if (!found && proven && add_enabled(decisions, &list, i, name) < 0) {
		return -1;
	}
	decisions->n_enabled = list.count;
	*changed = found != proven;
	return 0;
}

bool kp_decisions_is_proven(const struct kp_decisions *decisions, const char *name)
{
	struct list list = enabled_list(decisions);
	bool found;
	(void)place(&list, name, &found);
	return found;
}

static void remove_pin(struct kp_decisions *decisions, struct list *list, size_t i)
{
	assert(decisions->pins);
	free(decisions->pins[i].operation);
	free(decisions->pins[i].choice);
	close_gap(list, i);
	decisions->n_pins = list->count;
}

static int change_pin(
	struct kp_pin *pin, const char *choice, int64_t at, uint32_t uid, bool *changed)
{
	bool differs = false;
	if (replace(&pin->choice, choice, &differs) < 0)
		return -1;
	if (differs) {
		pin->at = at;
		pin->uid = uid;
	}
	*changed = differs;
	return 0;
}

int kp_decisions_pin(struct kp_decisions *decisions, const char *operation,
	const char *choice, int64_t at, uint32_t uid, bool *changed)
{
	struct list list = pin_list(decisions);
	bool found;
	size_t i = place(&list, operation, &found);

	if (!choice) {
		if (found)
			remove_pin(decisions, &list, i);
		*changed = found;
		return 0;
	}
	if (found)
		return change_pin(&decisions->pins[i], choice, at, uid, changed);
	struct kp_pin item = {strdup(operation), strdup(choice), at, uid};
	if (!item.operation || !item.choice || open_gap(&list, i) < 0) {
		free(item.operation);
		free(item.choice);
		return -1;
	}
	decisions->pins = (struct kp_pin *)(void *)list.base;
	decisions->pins[i] = item;
	decisions->n_pins = list.count;
	*changed = true;
	return 0;
}

void kp_decisions_finish(struct kp_decisions *decisions)
{
	if (!decisions)
		return;
	for (size_t i = 0; i < decisions->n_disabled; i++)
		free_disabled(&decisions->disabled[i]);
	for (size_t i = 0; i < decisions->n_pins; i++) {
		free(decisions->pins[i].operation);
		free(decisions->pins[i].choice);
	}
	for (size_t i = 0; i < decisions->n_enabled; i++)
		free(decisions->enabled[i]);
	free(decisions->disabled);
	free(decisions->pins);
	free(decisions->enabled);
	*decisions = (struct kp_decisions){0};
}
