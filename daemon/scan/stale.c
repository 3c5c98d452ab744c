/* SPDX-License-Identifier: MIT */
/* A check of traces as a job of a lane. */
#include "daemon/scan/stale.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/trust.h"

struct stale {
	struct lane_job job;
	size_t count, found;
	struct {
		char *plugin;
		struct trace *trace;
	} * items;
	struct stale_plugin *changed; /* room for all */
	const struct kp_trust *trust;
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

static bool is_trusted(struct kp_trust_look *look, const struct trace *trace)
{
	for (size_t i = 0; i < trace->count; i++)
		if (trace->items[i].stamp.exists &&
			!kp_trust_look(look, trace->items[i].path))
			return false;
	return true;
}

static void work(struct lane_job *job)
{
	struct stale *stale = stale_of(job);
	struct kp_trust_look look = {.trust = stale->trust};

	for (size_t i = 0; i < stale->count; i++) {
		struct trace *trace = stale->items[i].trace;
		if (trace_holds(trace) && is_trusted(&look, trace) == !trace->distrusted)
			continue;
		stale->changed[stale->found++] = (struct stale_plugin){
			stale->items[i].plugin, trace_modified(trace)};
	}
	kp_trust_look_finish(&look);
}

static void worked(struct lane_job *job)
{
	struct stale *stale = stale_of(job);

	stale->done(stale->context, stale->changed, stale->found);
	stale_free(stale);
}

void stale_start(struct stale *stale, struct lane *lane, const struct kp_trust *trust,
	stale_done_fn *done, void *context)
{
	stale->trust = trust;
	stale->done = done;
	stale->context = context;
	lane_add(lane, &stale->job, work, worked);
}
