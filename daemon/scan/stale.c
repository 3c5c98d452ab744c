/* SPDX-License-Identifier: MIT */
/* A check of traces as a job of a lane. */
#include "daemon/scan/stale.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct stale {
	struct lane_job job;
	size_t count, found;
	struct {
		char *plugin;
		struct trace *trace;
	} * items;
	struct stale_plugin *changed; /* room for all */
	stale_done_fn *done;
	void *context;
};

static struct stale *stale_of(struct lane_job *job)
{
	return (struct stale *)((char *)job - offsetof(struct stale, job));
}

struct stale *stale_new(void)
{
	return calloc(1, sizeof(struct stale));
}

void stale_free(struct stale *stale)
{
	if (!stale)
		return;
	for (size_t i = 0; i < stale->count; i++) {
		free(stale->items[i].plugin);
		trace_unref(stale->items[i].trace);
	}
	free(stale->items);
	free(stale->changed);
	free(stale);
}

int stale_add(struct stale *stale, const char *plugin, struct trace *trace)
{
	size_t count = stale->count + 1;
	void *items = reallocarray(stale->items, count, sizeof(*stale->items));

	if (!items)
		return -1;
	stale->items = items;
	void *changed = reallocarray(stale->changed, count, sizeof(*stale->changed));
	if (!changed)
		return -1;
	stale->changed = changed;
	stale->items[count - 1].plugin = strdup(plugin);
	if (!stale->items[count - 1].plugin)
		return -1;
	stale->items[count - 1].trace = trace_ref(trace);
	stale->count = count;
	return 0;
}

static void work(struct lane_job *job)
{
	struct stale *stale = stale_of(job);

	for (size_t i = 0; i < stale->count; i++)
		if (!trace_holds(stale->items[i].trace))
			stale->changed[stale->found++] =
				(struct stale_plugin){stale->items[i].plugin,
					trace_modified(stale->items[i].trace)};
}

static void worked(struct lane_job *job)
{
	struct stale *stale = stale_of(job);

	stale->done(stale->context, stale->changed, stale->found);
	stale_free(stale);
}

void stale_start(
	struct stale *stale, struct lane *lane, stale_done_fn *done, void *context)
{
	stale->done = done;
	stale->context = context;
	lane_add(lane, &stale->job, work, worked);
}
