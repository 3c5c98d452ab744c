/* SPDX-License-Identifier: MIT */
/* What verdicts rest on, and whether it is still what it was. */
#include <stdlib.h>

#include "daemon/pipeline/pipeline_inside.h"
#include "daemon/scan/stale.h"

void pipeline_confirm(struct pipeline *pipeline, const char *plugin, struct trace *trace,
	struct trace *kept)
{
	memory_set(&pipeline->memory, plugin, trace, kept);
}

bool pipeline_rests_on(const struct pipeline *pipeline, const char *plugin,
	struct trace **trace, struct trace **kept)
{
	const struct memory_item *item = memory_find(&pipeline->memory, plugin);

	if (!item || !item->trace->proof || !item->kept)
		return false;
	*trace = item->trace;
	*kept = item->kept;
	return true;
}

struct asked {
	struct pipeline *pipeline;
	stale_done_fn *found;
	void *context;
};

static void checked(void *context, const struct stale_plugin *plugins, size_t count)
{
	struct asked *asked = context;
	struct pipeline *pipeline = asked->pipeline;

	if (!pipeline->closing)
		asked->found(asked->context, plugins, count);
	free(asked);
	pipeline_let_go(pipeline);
}

void pipeline_stale(struct pipeline *pipeline, const struct kp_manifests *manifests,
	stale_done_fn *found, void *context)
{
	struct stale *stale = stale_new();
	struct asked *asked = malloc(sizeof(*asked));

	memory_keep(&pipeline->memory, manifests);
	if (!stale || !asked || pipeline->closing ||
		memory_check(&pipeline->memory, &pipeline->ways, stale) < 0) {
		stale_free(stale);
		free(asked);
		/* Whoever asked waits for an answer: without memory nothing is known. */
		found(context, NULL, 0);
		return;
	}
	*asked = (struct asked){pipeline, found, context};
	pipeline->checks++;
	stale_start(stale, &pipeline->lane,
		pipeline->settings.any_files ? NULL : pipeline->settings.trust, checked,
		asked);
}
