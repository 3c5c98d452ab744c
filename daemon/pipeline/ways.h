/* SPDX-License-Identifier: MIT */
/*
 * The ways of a pipeline by the plugin's name, and in order those that have not begun.
 * Of pipeline.c only; owns none of them.
 */
#ifndef KP_DAEMON_WAYS_H
#define KP_DAEMON_WAYS_H

#include <stddef.h>
#include <sys/queue.h>

struct way;
TAILQ_HEAD(way_list, way);

struct ways {
	void *tree; /* of tsearch */
	size_t count;
	struct way_list waiting;
	size_t begun; /* of those that count, see way.h */
};

void ways_init(struct ways *ways);
struct way *ways_find(const struct ways *ways, const char *plugin);
/* Any of them, NULL: there is none. */
struct way *ways_any(const struct ways *ways);
/* Its name must be new; it waits. -1: memory. */
int ways_add(struct ways *ways, struct way *way) __attribute__((warn_unused_result));
/* The one that has waited longest, which has begun from now on; NULL: none waits. */
struct way *ways_begin(struct ways *ways);
/* It goes on, and another may begin in its place. */
void ways_discount(struct ways *ways, struct way *way);
void ways_remove(struct ways *ways, struct way *way);

#endif
