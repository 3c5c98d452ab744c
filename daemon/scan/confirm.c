/* SPDX-License-Identifier: MIT */
/* From the index into registry and pipeline. */
#include "daemon/scan/confirm.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/options.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/scan/index.h"
#include "daemon/scan/index_save.h"

/* Rests it on the library that is meant now? It may have been rolled back since. */
static bool is_meant(const struct daemon *daemon, const struct index_item *item)
{
	const struct kp_manifest *manifest =
		kp_registry_manifest(daemon->registry, item->manifest.name);
	bool found = false;
	char *path;

	if (!manifest || kp_manifest_library(
				 manifest, daemon->options->plugin_dir, &path, NULL) < 0)
		return false;
	for (size_t i = 0; !found && i < item->trace->count; i++)
		found = strcmp(item->trace->items[i].path, path) == 0;
	free(path);
	return found;
}

static size_t gather(const struct daemon *daemon, const struct index *index,
	char **plugins, size_t count, struct kp_confirmed *items)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const struct index_item *item = index_find(index, plugins[i]);
		if (item && item->holds && is_meant(daemon, item))
			items[n++] = (struct kp_confirmed){
				.plugin = item->manifest.name,
				.manifest_digest = item->manifest.digest,
				.digest = item->digest,
				.closure = item->closure,
				.told = item->told,
				.bytes = item->bytes,
			};
	}
	return n;
}

/* What their verdicts rest on is looked at while the daemon runs, and by the next. */
static void note(struct pipeline *pipeline, const struct index *index,
	const struct kp_confirmed *item)
{
	const struct index_item *known = index_find(index, item->plugin);

	if (item->accepted)
		pipeline_confirm(pipeline, item->plugin, known->trace, known->kept);
}

int confirm_plugins(struct daemon *daemon, const struct index *index, char **plugins,
	size_t count, struct kp_diag *diag)
{
	if (!index || !count)
		return 0;
	struct kp_confirmed *items = calloc(count, sizeof(*items));
	if (!items)
		return kp_diag_no_memory(diag);
	size_t n = gather(daemon, index, plugins, count, items);
	int result = kp_registry_confirm(daemon->registry, items, n, daemon_now(), diag);
	for (size_t i = 0; i < n; i++)
		note(daemon->pipeline, index, &items[i]);
	if (result == 0)
		index_adopt(daemon, index);
	free(items);
	return result;
}
