/* SPDX-License-Identifier: MIT */
/* Plugins and their generations, as sorted arrays. */
#include "daemon/history/chronicle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sorted.h"

/* ---- plugins ------------------------------------------------------------------- */

static struct kp_sorted list_of(const struct chronicles *list)
{
	return (struct kp_sorted){(char *)list->items, list->count, sizeof(*list->items)};
}

struct chronicle *chronicles_find(const struct chronicles *list, const char *plugin)
{
	struct kp_sorted sorted = list_of(list);
	bool found;
	size_t i = kp_sorted_place(&sorted, plugin, &found);

	return found ? &list->items[i] : NULL;
}

size_t chronicles_behind(const struct chronicles *list, const char *plugin)
{
	struct kp_sorted sorted = list_of(list);
	bool found;
	size_t i = kp_sorted_place(&sorted, plugin, &found);

	return found ? i + 1 : i;
}

struct chronicle *chronicles_open(struct chronicles *list, const char *plugin)
{
	struct kp_sorted sorted = list_of(list);
	bool found;
	size_t i = kp_sorted_place(&sorted, plugin, &found);

	if (found)
		return &list->items[i];
	char *copy = strdup(plugin);
	if (!copy || kp_sorted_open(&sorted, i) < 0) {
		free(copy);
		return NULL;
	}
	list->items = (struct chronicle *)(void *)sorted.base;
	list->count = sorted.count;
	list->items[i] = (struct chronicle){.plugin = copy, .next = 1};
	return &list->items[i];
}

static void edition_finish(struct edition *edition)
{
	free(edition->entry);
	free(edition->version);
	free(edition->message);
}

static void finish(struct chronicle *chronicle)
{
	for (size_t i = 0; i < chronicle->count; i++)
		edition_finish(&chronicle->editions[i]);
	free(chronicle->editions);
	free(chronicle->plugin);
}

void chronicles_remove(struct chronicles *list, const char *plugin)
{
	struct kp_sorted sorted = list_of(list);
	bool found;
	size_t i = kp_sorted_place(&sorted, plugin, &found);

	if (!found)
		return;
	finish(&list->items[i]);
	kp_sorted_close(&sorted, i);
	list->count = sorted.count;
}

void chronicles_finish(struct chronicles *list)
{
	for (size_t i = 0; i < list->count; i++)
		finish(&list->items[i]);
	free(list->items);
	*list = (struct chronicles){0};
}

/* ---- generations --------------------------------------------------------------- */

struct edition *chronicle_by_number(const struct chronicle *chronicle, int64_t number)
{
	for (size_t i = 0; chronicle && i < chronicle->count; i++)
		if (chronicle->editions[i].number == number)
			return &chronicle->editions[i];
	return NULL;
}

struct edition *chronicle_by_closure(
	const struct chronicle *chronicle, const char *closure)
{
	for (size_t i = 0; chronicle && i < chronicle->count; i++)
		if (strcmp(chronicle->editions[i].closure, closure) == 0)
			return &chronicle->editions[i];
	return NULL;
}

struct edition *chronicle_current(const struct chronicle *chronicle)
{
	for (size_t i = chronicle ? chronicle->count : 0; i-- > 0;)
		if (chronicle->editions[i].until == 0)
			return &chronicle->editions[i];
	return NULL;
}

struct edition *chronicle_add(struct chronicle *chronicle, const struct edition *edition)
{
	struct edition made = *edition;
	struct edition *editions = reallocarray(
		chronicle->editions, chronicle->count + 1, sizeof(*editions));

	if (!editions)
		return NULL;
	chronicle->editions = editions;
	made.entry = strdup(edition->entry);
	made.version = strdup(edition->version);
	made.message = strdup(edition->message);
	if (!made.entry || !made.version || !made.message) {
		edition_finish(&made);
		return NULL;
	}
	editions[chronicle->count] = made;
	return &editions[chronicle->count++];
}

void chronicle_drop(struct chronicle *chronicle, struct edition *edition)
{
	size_t i = (size_t)(edition - chronicle->editions);

	edition_finish(edition);
	chronicle->count--;
	memmove(edition, edition + 1, (chronicle->count - i) * sizeof(*edition));
}

bool chronicle_end(struct chronicle *chronicle, int64_t now)
{
	struct edition *current = chronicle_current(chronicle);

	if (current)
		current->until = now;
	return current != NULL;
}

/* ---- what is seen -------------------------------------------------------------- */

static int see_verdict(struct edition *edition, const struct edition *seen, bool *changed)
{
	if (edition->verdict == seen->verdict && strcmp(edition->code, seen->code) == 0 &&
		strcmp(edition->message, seen->message) == 0)
		return 0;
	char *message = strdup(seen->message);
	if (!message)
		return -1;
	free(edition->message);
	edition->message = message;
	edition->verdict = seen->verdict;
	memcpy(edition->code, seen->code, sizeof(edition->code));
	*changed = true;
	return 0;
}

/* Takes the place of an earlier one of the same library. */
static int begin(struct chronicle *chronicle, const struct sight *sight)
{
	struct edition *before = chronicle_by_closure(chronicle, sight->edition.closure);
	struct edition next = sight->edition;

	next.number = chronicle->next;
	next.at = sight->now;
	next.until = 0;
	(void)chronicle_end(chronicle, sight->now);
	size_t place = before ? (size_t)(before - chronicle->editions) : 0;
	if (!chronicle_add(chronicle, &next))
		return -1;
	chronicle->next++;
	if (before)
		chronicle_drop(chronicle, &chronicle->editions[place]);
	return 0;
}

static void resume(struct chronicle *chronicle, struct edition *edition, int64_t now)
{
	(void)chronicle_end(chronicle, now);
	edition->until = 0;
}

int chronicle_see(struct chronicle *chronicle, const struct sight *sight, bool *changed)
{
	struct edition *known = chronicle_by_closure(chronicle, sight->edition.closure);
	bool is_newest = known && known == &chronicle->editions[chronicle->count - 1];

	if (sight->is_active && (!known || (!is_newest && !sight->is_rolled_back))) {
		*changed = true;
		return begin(chronicle, sight);
	}
	if (sight->is_active && known->until != 0) {
		resume(chronicle, known, sight->now);
		*changed = true;
	}
	return known ? see_verdict(known, &sight->edition, changed) : 0;
}

bool chronicle_cut(struct chronicle *chronicle, size_t most, int64_t wanted)
{
	bool cut = false;

	for (size_t i = 0; i < chronicle->count && chronicle->count > most;) {
		struct edition *edition = &chronicle->editions[i];
		if (edition->until == 0 || edition->number == wanted) {
			i++;
			continue;
		}
		chronicle_drop(chronicle, edition);
		cut = true;
	}
	return cut;
}
