/* SPDX-License-Identifier: MIT */
/* A sorted array of plugins and their traces. */
#include "daemon/scan/memory.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/pipeline/ways.h"
#include "daemon/scan/stale.h"

/* Where the plugin is or would be. */
static size_t place(const struct memory *memory, const char *plugin)
{
	size_t low = 0, high = memory->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(memory->items[middle].plugin, plugin) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(const struct memory *memory, size_t i, const char *plugin)
{
	return i < memory->count && strcmp(memory->items[i].plugin, plugin) == 0;
}

static void take(struct memory_item *item, struct trace *trace, struct trace *kept)
{
	item->trace = trace_ref(trace);
	item->kept = kept ? trace_ref(kept) : NULL;
}

static void drop(struct memory_item *item)
{
	trace_unref(item->trace);
	trace_unref(item->kept);
}

static void insert(struct memory *memory, size_t i, const char *plugin,
	struct trace *trace, struct trace *kept)
{
	struct memory_item *items =
		reallocarray(memory->items, memory->count + 1, sizeof(*items));

	if (!items)
		return;
	memory->items = items;
	char *copy = strdup(plugin);
	if (!copy)
		return;
	memmove(items + i + 1, items + i, (memory->count - i) * sizeof(*items));
	items[i].plugin = copy;
	take(&items[i], trace, kept);
	memory->count++;
}

void memory_set(struct memory *memory, const char *plugin, struct trace *trace,
	struct trace *kept)
{
	size_t i = place(memory, plugin);

	if (!is_at(memory, i, plugin)) {
		insert(memory, i, plugin, trace, kept);
		return;
	}
	struct memory_item before = memory->items[i];
	take(&memory->items[i], trace, kept);
	drop(&before);
}

const struct memory_item *memory_find(const struct memory *memory, const char *plugin)
{
	size_t i = place(memory, plugin);

	return is_at(memory, i, plugin) ? &memory->items[i] : NULL;
}

void memory_forget(struct memory *memory, const char *plugin)
{
	size_t i = place(memory, plugin);

	if (!is_at(memory, i, plugin))
		return;
	free(memory->items[i].plugin);
	drop(&memory->items[i]);
	memory->count--;
	memmove(memory->items + i, memory->items + i + 1,
		(memory->count - i) * sizeof(*memory->items));
}

void memory_keep(struct memory *memory, const struct kp_manifests *manifests)
{
	for (size_t i = memory->count; i-- > 0;)
		if (!kp_manifests_find(manifests, memory->items[i].plugin))
			memory_forget(memory, memory->items[i].plugin);
}

int memory_check(
	const struct memory *memory, const struct ways *ways, struct stale *stale)
{
	for (size_t i = 0; i < memory->count; i++) {
		const struct memory_item *item = &memory->items[i];
		if (!ways_find(ways, item->plugin) &&
			stale_add(stale, item->plugin, item->trace) < 0)
			return -1;
	}
	return 0;
}

void memory_finish(struct memory *memory)
{
	for (size_t i = 0; i < memory->count; i++) {
		free(memory->items[i].plugin);
		drop(&memory->items[i]);
	}
	free(memory->items);
	*memory = (struct memory){0};
}
