/* SPDX-License-Identifier: MIT */
/*
 * One look at the directories: the manifests, libraries that no manifest names,
 * and what has to be watched. Blocks on files; knows no registry and no loop.
 */
#ifndef KP_DAEMON_SURVEY_H
#define KP_DAEMON_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/watch.h"
#include "lib/diag.h"
#include "lib/manifest.h"

enum { SURVEY_DIRS = 4096, SURVEY_UNCLAIMED = 4096 };

struct survey_places {
	size_t n_manifest_dirs;
	const char *const *manifest_dirs;
	const char *plugin_dir;
	bool only_trusted; /* manifests that nobody but root and we may change */
};

struct survey {
	uint64_t stamp; /* differs when a manifest or directory may have changed */
	struct kp_manifests manifests;
	size_t n_unclaimed;
	char **unclaimed; /* file names in the plugin directory, in byte order */
	size_t n_dirs;
	struct watch_dir *dirs;
};

/* What the stamp would be now: looks at names and times only. */
uint64_t survey_stamp(const struct survey_places *places);

/* Fails when memory is exhausted. */
int survey_read(const struct survey_places *places, struct survey *survey,
	struct kp_diag *diag) __attribute__((warn_unused_result));
void survey_finish(struct survey *survey);

#endif
