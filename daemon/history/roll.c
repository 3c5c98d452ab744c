/* SPDX-License-Identifier: MIT */
/* Rollbacks in force: manifests that lead into the store. */
#include <stdio.h>
#include <stdlib.h>

#include "daemon/daemon.h"
#include "daemon/history/history.h"
#include "daemon/options.h"
#include "lib/plugin/manifest.h"

static int roll(const struct daemon *daemon, struct kp_manifest *manifest)
{
	const struct kp_rollback *rollback =
		kp_decisions_find_rollback(&daemon->decisions, manifest->name);
	char *path;

	if (!rollback || manifest->error || manifest->masked)
		return kp_manifest_store(manifest, NULL, NULL, NULL);
	if (asprintf(&path, "%s/store/%s/%s", daemon->options->state_dir,
		    rollback->closure, rollback->entry) < 0)
		return -1;
	int result =
		kp_manifest_store(manifest, path, rollback->closure, rollback->digest);
	free(path);
	return result;
}

int history_roll(struct daemon *daemon, struct kp_manifests *manifests)
{
	for (size_t i = 0; i < manifests->count; i++)
		if ((manifests->items[i].stored || daemon->decisions.n_rollbacks > 0) &&
			roll(daemon, &manifests->items[i]) < 0)
			return -1;
	return 0;
}
