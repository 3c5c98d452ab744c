/* SPDX-License-Identifier: MIT */
/* Which files, and copies of them, the last verdict of each plugin rests on. */
#ifndef KP_DAEMON_MEMORY_H
#define KP_DAEMON_MEMORY_H

#include <stddef.h>

#include "daemon/scan/stamp.h"
#include "lib/plugin/manifest.h"

struct stale;
struct ways;

/* In byte order of plugin. Zero it first. */
struct memory {
	size_t count;
	struct memory_item {
		char *plugin;
		struct trace *trace;
		struct trace *kept; /* of its entry in the store; or NULL */
	} * items;
};

/* Takes references; what does not fit in memory is not remembered. */
void memory_set(struct memory *memory, const char *plugin, struct trace *trace,
	struct trace *kept);
/* Borrowed, or NULL. */
const struct memory_item *memory_find(const struct memory *memory, const char *plugin);
void memory_forget(struct memory *memory, const char *plugin);
/* Forgets all that have no manifest any more. */
void memory_keep(struct memory *memory, const struct kp_manifests *manifests);
/* Adds all to a check, but for what is under way: that looks anyway. -1: no memory. */
int memory_check(const struct memory *memory, const struct ways *ways,
	struct stale *stale) __attribute__((warn_unused_result));
void memory_finish(struct memory *memory);

#endif
