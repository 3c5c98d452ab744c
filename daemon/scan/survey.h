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

#include "daemon/scan/sighting.h"
#include "daemon/scan/watch.h"
#include "lib/base/diag.h"
#include "lib/plugin/manifest.h"

struct index;
struct kp_trust;

enum { SURVEY_DIRS = 4096, SURVEY_UNCLAIMED = 4096 };

struct survey_places {
	size_t n_manifest_dirs;
	const char *const *manifest_dirs;
	const char *plugin_dir;
	/* Of manifests, and of what the index knows; NULL: nobody is asked. */
	const struct kp_trust *trust;
	const char *store_dir; /* of survey_read_known */
	const char *keys_dir;  /* to be watched, too; or NULL */
};

struct survey {
	uint64_t stamp; /* differs when a manifest or directory may have changed */
	struct kp_manifests manifests;
	size_t n_unclaimed;
	char **unclaimed; /* file names in the plugin directory, in byte order */
	size_t n_dirs;
	struct watch_dir *dirs;
	size_t n_layers;
	struct sightings *layers;   /* the files of each directory of manifests */
	struct sightings libraries; /* of the plugin directory, while it is read */
};

/* What the stamp would be now: looks at names and times only. */
uint64_t survey_stamp(const struct survey_places *places);

/* Fails when memory is exhausted. */
int survey_read(const struct survey_places *places, struct survey *survey,
	struct kp_diag *diag) __attribute__((warn_unused_result));
/*
 * The same, without opening what the index knows: its items are told apart (is_known,
 * holds). NULL: nothing is known.
 */
int survey_read_known(const struct survey_places *places, struct index *index,
	struct survey *survey, struct kp_diag *diag) __attribute__((warn_unused_result));

/* The stamp of a manifest's file before it was read; false: not known, or too young. */
bool survey_stamp_of(const struct survey *survey, const struct kp_manifest *manifest,
	struct stamp *stamp);
void survey_finish(struct survey *survey);

#endif
