/* SPDX-License-Identifier: MIT */
/* A sorted array of plugins and their traces. */
#include "daemon/memory.h"

#include <stdlib.h>
#include <string.h>

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

static void insert(
	struct memory *memory, size_t i, const char *plugin, struct trace *trace)
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
	items[i].trace = trace_ref(trace);
	memory->count++;
}

void memory_set(struct memory *memory, const char *plugin, struct trace *trace)
{
	size_t i = place(memory, plugin);

	if (!is_at(memory, i, plugin)) {
		insert(memory, i, plugin, trace);
		return;
	}
	trace_ref(trace);
	trace_unref(memory->items[i].trace);
	memory->items[i].trace = trace;
}

void memory_forget(struct memory *memory, const char *plugin)
{
	size_t i = place(memory, plugin);

	if (!is_at(memory, i, plugin))
		return;
	free(memory->items[i].plugin);
	trace_unref(memory->items[i].trace);
	memory->count--;
	memmove(memory->items + i, memory->items + i + 1,
		(memory->count - i) * sizeof(*memory->items));
}

void memory_finish(struct memory *memory)
{
	for (size_t i = 0; i < memory->count; i++) {
		free(memory->items[i].plugin);
		trace_unref(memory->items[i].trace);
	}
	free(memory->items);
	*memory = (struct memory){0};
}
