/* SPDX-License-Identifier: MIT */
/* Gathering closures from registry, table, decisions, history and applications. */
#include "daemon/history/references.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/application/attached.h"
#include "daemon/daemon.h"
#include "daemon/history/history.h"
#include "lib/table/table_read.h"

enum {
	GRACE_MS = 2000,     /* of an application that is just looking at it */
	REATTACH_MS = 60000, /* of one that has not come back since our start */
};

/* ---- what is served -------------------------------------------------------------- */

/* Where it is or would be. */
static size_t place(const struct references *references, const char *closure, bool *found)
{
	size_t low = 0, high = references->n_served;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(references->served[middle].closure, closure) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*found = low < references->n_served &&
		 strcmp(references->served[low].closure, closure) == 0;
	return low;
}

static void insert(struct references *references, size_t at, const char *closure)
{
	struct served *served = references->served;

	if (references->n_served == references->served_room) {
		size_t room = references->served_room ? 2 * references->served_room : 64;
		served = reallocarray(served, room, sizeof(*served));
		if (!served) {
			references->failed = true;
			return;
		}
		references->served = served;
		references->served_room = room;
	}
	memmove(served + at + 1, served + at,
		(references->n_served - at) * sizeof(*served));
	served[at] = (struct served){.is_here = true};
	memcpy(served[at].closure, closure, DIGEST_TEXT);
	references->n_served++;
}

static void serve(struct references *references, const char *closure, bool is_restored)
{
	bool found;
	size_t at = place(references, closure, &found);

	if (!found)
		insert(references, at, closure);
	if (references->failed)
		return;
	references->served[at].is_here = true;
	references->served[at].is_restored |= is_restored && !found;
	references->served[at].left = 0;
}

static const char *closure_at(const struct kp_table *table, size_t i)
{
	const char *closure = kp_table_text(
		table, kp_load32(kp_table_record(table, KP_SECTION_PLUGINS, i) +
				 KP_PLUGIN_CLOSURE));

	return closure && strlen(closure) == DIGEST_TEXT - 1 ? closure : NULL;
}

static void leave(struct references *references, const struct daemon *daemon)
{
	for (size_t i = 0; i < references->n_served; i++) {
		struct served *served = &references->served[i];
		if (served->left || served->is_here)
			continue;
		served->left = daemon->generation.number;
		served->left_ms = uv_now(&daemon->loop);
	}
}

void references_follow(struct references *references, const struct daemon *daemon)
{
	const struct kp_table *table = &daemon->generation.table;
	bool is_first = references->generation == 0 && daemon->restored;

	if (!table->bytes || references->generation == daemon->generation.number)
		return;
	references->generation = daemon->generation.number;
	for (size_t i = 0; i < references->n_served; i++)
		references->served[i].is_here = false;
	for (size_t i = 0; i < kp_table_plugins(table); i++) {
		const char *closure = closure_at(table, i);
		if (closure)
			serve(references, closure, is_first);
	}
	leave(references, daemon);
}

/* Nobody who is here, or may come back, can have it any more. */
static bool is_let_go(const struct served *served, const struct daemon *daemon)
{
	uint64_t now = uv_now(&daemon->loop);

	return served->left && now >= served->left_ms + GRACE_MS &&
	       attached_oldest(daemon->attached) >= served->left &&
	       (!served->is_restored || now >= daemon->started_ms + REATTACH_MS);
}

/* ---- all of it ------------------------------------------------------------------- */

static void add(struct references *references, const char *closure)
{
	if (references->count == references->room) {
		size_t room = references->room ? 2 * references->room : 64;
		char(*items)[DIGEST_TEXT] =
			reallocarray(references->items, room, sizeof(*items));
		if (!items) {
			references->failed = true;
			return;
		}
		references->items = items;
		references->room = room;
	}
	memcpy(references->items[references->count++], closure, DIGEST_TEXT);
}

static void add_plugins(struct references *references, const struct daemon *daemon)
{
	const struct kp_registry *registry = daemon->registry;

	for (size_t i = 0; i < kp_registry_count(registry); i++) {
		const char *closure =
			kp_registry_closure(registry, kp_registry_name(registry, i));
		if (closure[0])
			add(references, closure);
	}
	for (size_t i = 0; i < kp_table_plugins(&daemon->generation.table); i++) {
		const char *closure = closure_at(&daemon->generation.table, i);
		if (closure)
			add(references, closure);
	}
}

static void add_history(struct references *references, const struct daemon *daemon)
{
	const struct chronicles *list = history_all(daemon->history);

	for (size_t i = 0; i < list->count; i++)
		for (size_t k = 0; k < list->items[i].count; k++)
			add(references, list->items[i].editions[k].closure);
}

/* Those that are let go are forgotten with this. */
static void add_served(struct references *references, const struct daemon *daemon)
{
	size_t kept = 0;

	for (size_t i = 0; i < references->n_served; i++) {
		const struct served *served = &references->served[i];
		if (is_let_go(served, daemon))
			continue;
		add(references, served->closure);
		references->served[kept++] = *served;
	}
	references->n_served = kept;
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

void references_take(
	struct references *references, const struct daemon *daemon, bool with_history)
{
	const struct kp_decisions *decisions = &daemon->decisions;

	references->count = 0;
	references_follow(references, daemon);
	add_plugins(references, daemon);
	add_served(references, daemon);
	if (with_history)
		add_history(references, daemon);
	for (size_t i = 0; i < decisions->n_rollbacks; i++)
		add(references, decisions->rollbacks[i].closure);
	if (references->count > 0)
		qsort(references->items, references->count, sizeof(*references->items),
			compare);
}

bool references_has(const struct references *references, const char *closure)
{
	return references->failed ||
	       (references->count > 0 &&
		       bsearch(closure, references->items, references->count,
			       sizeof(*references->items), compare));
}

bool references_wait(const struct references *references)
{
	for (size_t i = 0; i < references->n_served; i++)
		if (references->served[i].left)
			return true;
	return false;
}

void references_finish(struct references *references)
{
	free(references->served);
	free(references->items);
	*references = (struct references){0};
}
