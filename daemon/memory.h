/* SPDX-License-Identifier: MIT */
/* Which files the last verdict of each plugin rests on. */
#ifndef KP_DAEMON_MEMORY_H
#define KP_DAEMON_MEMORY_H

#include <stddef.h>

#include "daemon/stamp.h"

/* In byte order of plugin. Zero it first. */
struct memory {
	size_t count;
	struct memory_item {
		char *plugin;
		struct trace *trace;
	} * items;
};

/* Takes a reference; what does not fit in memory is not remembered. */
void memory_set(struct memory *memory, const char *plugin, struct trace *trace);
void memory_forget(struct memory *memory, const char *plugin);
void memory_finish(struct memory *memory);

#endif
