/* SPDX-License-Identifier: MIT */
/*
 * A registry with injected families, platform and plugins, all from JSON: no
 * file, no process, any machine.
 *
 * A plugin: {"plugin": "a", "note": {"kernels": [...]}, "manifest": {...},
 * "masked": true, "raw": "manifest text", "pending": true, "digest": "text",
 * "elf": {"machine": "x86_64"},
 * "state": "failed", "code": "...", "message": "...", "unavailable": {"k": "why"}};
 * only "plugin" is required. The note's name is the plugin's and its version
 * 1.0.0 where it says nothing; every library differs unless digest says so.
 */
#ifndef TESTS_SUPPORT_WORLD_H
#define TESTS_SUPPORT_WORLD_H

#include <jansson.h>

#include "lib/registry/registry.h"
#include "lib/select/select.h"
#include "lib/table/table.h"

struct world {
	struct kp_families families;
	struct kp_platform platform;
	struct kp_decisions decisions;
	struct kp_registry *registry;
	json_t *plugins; /* that the directories hold, an array */
	json_t *changes; /* "name state" in the order told */
	json_t *probed;	 /* names that were to be run, in order */
	int64_t now;
	void *bytes;
	size_t size;
	struct kp_table table;
	char error[1024]; /* why the last function failed */
};

/* families: an array of families; platform: a name or an object. NULL: memory or bad
 * data. */
struct world *world_new(const json_t *families, const json_t *platform);
void world_free(struct world *world);

/* Adds or replaces a plugin of the directories, or takes it away; no scan. */
bool world_put(struct world *world, const json_t *plugin);
void world_take(struct world *world, const char *name);

/* Scans: what is to be run is run and applied, pending ones excepted. */
bool world_scan(struct world *world, const char *force);
/* Only the verdict of one plugin, as it is in the directories. */
bool world_apply(struct world *world, const char *name);
bool world_decide(struct world *world);
/* Builds the table of this generation and opens it. */
bool world_build(struct world *world, uint64_t generation);

#endif
