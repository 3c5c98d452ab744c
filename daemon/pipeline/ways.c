/* SPDX-License-Identifier: MIT */
/* A tree of ways and a queue of those that wait. */
#include "daemon/pipeline/ways.h"

#include <search.h>
#include <string.h>

#include "daemon/pipeline/way.h"

static int compare(const void *a, const void *b)
{
	const struct way *x = a;
	const struct way *y = b;
	return strcmp(x->manifest.name, y->manifest.name);
}

void ways_init(struct ways *ways)
{
	*ways = (struct ways){.tree = NULL};
	TAILQ_INIT(&ways->waiting);
}

struct way *ways_find(const struct ways *ways, const char *plugin)
{
	struct way wanted = {.manifest.name = (char *)plugin};
	void *root = ways->tree;
	struct way **found = tfind(&wanted, &root, compare);
	return found ? *found : NULL;
}

struct way *ways_any(const struct ways *ways)
{
	return ways->tree ? *(struct way **)ways->tree : NULL;
}

int ways_add(struct ways *ways, struct way *way)
{
	if (!tsearch(way, &ways->tree, compare))
		return -1;
	ways->count++;
	way->waits = true;
	TAILQ_INSERT_TAIL(&ways->waiting, way, link);
	return 0;
}

static void stop_waiting(struct ways *ways, struct way *way)
{
	TAILQ_REMOVE(&ways->waiting, way, link);
	way->waits = false;
}

struct way *ways_begin(struct ways *ways)
{
	struct way *way = TAILQ_FIRST(&ways->waiting);

	if (!way)
		return NULL;
	stop_waiting(ways, way);
	way->counts = true;
	ways->begun++;
	return way;
}

void ways_discount(struct ways *ways, struct way *way)
{
	ways->begun -= way->counts;
	way->counts = false;
}

void ways_remove(struct ways *ways, struct way *way)
{
	(void)tdelete(way, &ways->tree, compare);
	ways->count--;
	if (way->waits)
		stop_waiting(ways, way);
	ways_discount(ways, way);
}
