/* SPDX-License-Identifier: MIT */
/*
 * To whom a library and a note's name belong: plugins in order of what they hold,
 * so that the first of a key, and whoever has the same, is found at once.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/registry/registry_plugin.h"

/* What is rejected is no plugin that could be used, and holds no name against others. */
static bool can_hold(const struct kp_plugin *plugin)
{
	return kp_plugin_is_valid(plugin) && plugin->has_verdict &&
	       (plugin->verdict.state == KP_STATE_ACTIVE ||
		       plugin->verdict.state == KP_STATE_FAILED ||
		       plugin->verdict.state == KP_STATE_QUARANTINED);
}

static const char *digest_of(const struct kp_plugin *plugin)
{
	return plugin->verdict.digest;
}

static int compare(const struct kp_holders *holders, const struct kp_plugin *plugin,
	const char *key, const char *name)
{
	int order = strcmp(holders->key(plugin), key);
	return order ? order : strcmp(plugin->name, name);
}

static int compare_items(const void *a, const void *b, void *context)
{
	struct kp_plugin *const *x = a;
	struct kp_plugin *const *y = b;
	return compare(context, *x, ((struct kp_holders *)context)->key(*y), (*y)->name);
}

/* Where this key and name are or would be. */
static size_t place(const struct kp_holders *holders, const char *key, const char *name)
{
	size_t low = 0, high = holders->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare(holders, holders->items[middle], key, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t kp_holders_first(const struct kp_holders *holders, const char *key)
{
	return place(holders, key, "");
}

bool kp_holders_has(const struct kp_holders *holders, size_t i, const char *key)
{
	return key[0] && i < holders->count &&
	       strcmp(holders->key(holders->items[i]), key) == 0;
}

/* The first plugin with this key; NULL: nobody has it. */
static struct kp_plugin *holder(const struct kp_holders *holders, const char *key)
{
	size_t i = kp_holders_first(holders, key);
	return kp_holders_has(holders, i, key) ? holders->items[i] : NULL;
}

/* ---- keeping the order ------------------------------------------------------- */

static int make_room(struct kp_holders *holders, size_t count)
{
	if (count <= holders->room)
		return 0;
	size_t room = holders->room * 2 > count ? holders->room * 2 : count;
	struct kp_plugin **items =
		reallocarray(holders->items, room, sizeof(const void *));
	if (!items)
		return -1;
	holders->items = items;
	holders->room = room;
	return 0;
}

static int join(struct kp_holders *holders, struct kp_plugin *plugin)
{
	const char *key = holders->key(plugin);

	if (!key[0])
		return 0;
	if (make_room(holders, holders->count + 1) < 0)
		return -1;
	size_t at = place(holders, key, plugin->name);
	memmove(holders->items + at + 1, holders->items + at,
		(holders->count - at) * sizeof(const void *));
	holders->items[at] = plugin;
	holders->count++;
	return 0;
}

static void leave(struct kp_holders *holders, const struct kp_plugin *plugin)
{
	size_t at = place(holders, holders->key(plugin), plugin->name);

	if (at >= holders->count || holders->items[at] != plugin)
		return;
	holders->count--;
	memmove(holders->items + at, holders->items + at + 1,
		(holders->count - at) * sizeof(const void *));
}

int kp_holders_join(struct kp_registry *registry, struct kp_plugin *plugin)
{
	if (!can_hold(plugin))
		return 0;
	return join(&registry->by_digest, plugin) < 0 ||
			       join(&registry->by_package, plugin) < 0
		       ? -1
		       : 0;
}

void kp_holders_leave(struct kp_registry *registry, const struct kp_plugin *plugin)
{
	leave(&registry->by_digest, plugin);
	leave(&registry->by_package, plugin);
}

static int gather(struct kp_holders *holders, const struct kp_registry *registry,
	const char *(*key)(const struct kp_plugin *plugin))
{
	holders->key = key;
	holders->count = 0;
	if (make_room(holders, registry->count) < 0)
		return -1;
	for (size_t i = 0; i < registry->count; i++)
		if (can_hold(registry->plugins[i]) && key(registry->plugins[i])[0])
			holders->items[holders->count++] = registry->plugins[i];
	if (holders->count > 0)
		qsort_r(holders->items, holders->count, sizeof(const void *),
			compare_items, holders);
	return 0;
}

/* ---- what follows from it ---------------------------------------------------- */

void kp_plugin_find_original(const struct kp_registry *registry, struct kp_plugin *plugin)
{
	struct kp_plugin *by_digest = NULL;
	struct kp_plugin *by_package = NULL;

	if (can_hold(plugin)) {
		by_digest = holder(&registry->by_digest, plugin->verdict.digest);
		by_package = holder(&registry->by_package, kp_plugin_package(plugin));
	}
	plugin->same_digest = by_digest && by_digest != plugin;
	plugin->original = plugin->same_digest			? by_digest
			   : by_package && by_package != plugin ? by_package
								: NULL;
}

int kp_registry_duplicates(struct kp_registry *registry)
{
	if (gather(&registry->by_digest, registry, digest_of) < 0 ||
		gather(&registry->by_package, registry, kp_plugin_package) < 0)
		return -1;
	for (size_t i = 0; i < registry->count; i++)
		kp_plugin_find_original(registry, registry->plugins[i]);
	return 0;
}

void kp_claim_take(const struct kp_registry *registry, const struct kp_plugin *plugin,
	struct kp_claim *claim)
{
	*claim = (struct kp_claim){.digest = plugin->has_verdict ? digest_of(plugin) : "",
		.package = kp_plugin_package(plugin)};
	claim->by_digest = holder(&registry->by_digest, claim->digest);
	claim->by_package = holder(&registry->by_package, claim->package);
}

bool kp_claim_digest_moved(
	const struct kp_registry *registry, const struct kp_claim *claim)
{
	return holder(&registry->by_digest, claim->digest) != claim->by_digest;
}

bool kp_claim_package_moved(
	const struct kp_registry *registry, const struct kp_claim *claim)
{
	return holder(&registry->by_package, claim->package) != claim->by_package;
}
