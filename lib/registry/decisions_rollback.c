/* SPDX-License-Identifier: MIT */
/* Rollbacks: plugins of which an earlier library runs, whatever lies on the disk. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/sorted.h"
#include "lib/registry/decisions_kind.h"

static struct kp_sorted list_of(const struct kp_decisions *d)
{
	return (struct kp_sorted){
		(char *)d->rollbacks, d->n_rollbacks, sizeof(*d->rollbacks)};
}

static void drop(struct kp_rollback *item)
{
	free(item->plugin);
	free(item->closure);
	free(item->entry);
	free(item->digest);
	free(item->reason);
}

static int copy(const struct kp_rollback *from, struct kp_rollback *to)
{
	*to = (struct kp_rollback){strdup(from->plugin), strdup(from->closure),
		strdup(from->entry), strdup(from->digest), strdup(from->reason),
		from->number, from->at, from->uid};
	if (to->plugin && to->closure && to->entry && to->digest && to->reason)
		return 0;
	drop(to);
	return -1;
}

static bool is_same(const struct kp_rollback *a, const struct kp_rollback *b)
{
	return a->number == b->number && strcmp(a->closure, b->closure) == 0 &&
	       strcmp(a->entry, b->entry) == 0 &&
	       (!b->reason[0] || strcmp(a->reason, b->reason) == 0);
}

int kp_decisions_roll_back(
	struct kp_decisions *decisions, const struct kp_rollback *item, bool *changed)
{
	struct kp_sorted list = list_of(decisions);
	struct kp_rollback made;
	bool found;
	size_t i = kp_sorted_place(&list, item->plugin, &found);

	*changed = !found || !is_same(&decisions->rollbacks[i], item);
	if (!*changed)
		return 0;
	if (copy(item, &made) < 0)
		return -1;
	if (!found && kp_sorted_open(&list, i) < 0) {
		drop(&made);
		return -1;
	}
	decisions->rollbacks = (struct kp_rollback *)(void *)list.base;
	if (found)
		drop(&decisions->rollbacks[i]);
	decisions->rollbacks[i] = made;
	decisions->n_rollbacks = list.count;
	return 0;
}

bool kp_decisions_release(struct kp_decisions *decisions, const char *plugin)
{
	struct kp_sorted list = list_of(decisions);
	bool found;
	size_t i = kp_sorted_place(&list, plugin, &found);

	if (!found)
		return false;
	drop(&decisions->rollbacks[i]);
	kp_sorted_close(&list, i);
	decisions->n_rollbacks = list.count;
	return true;
}

const struct kp_rollback *kp_decisions_find_rollback(
	const struct kp_decisions *decisions, const char *plugin)
{
	struct kp_sorted list = list_of(decisions);
	bool found;
	size_t i = kp_sorted_place(&list, plugin, &found);

	return found ? &decisions->rollbacks[i] : NULL;
}

int kp_decisions_copy_rollbacks(const struct kp_decisions *from, struct kp_decisions *to)
{
	bool changed;
	int result = 0;

	for (size_t i = 0; i < from->n_rollbacks && result == 0; i++)
		result = kp_decisions_roll_back(to, &from->rollbacks[i], &changed);
	return result;
}

void kp_decisions_finish_rollbacks(struct kp_decisions *decisions)
{
	for (size_t i = 0; i < decisions->n_rollbacks; i++)
		drop(&decisions->rollbacks[i]);
	free(decisions->rollbacks);
}

json_t *kp_rollback_json(const struct kp_rollback *item)
{
	return item ? json_pack("{s:o, s:I, s:s, s:I, s:I, s:o}", "plugin",
			      kp_json_clean_string(item->plugin), "number",
			      (json_int_t)item->number, "sha256", item->digest, "at",
			      (json_int_t)item->at, "uid", (json_int_t)item->uid,
			      "reason", kp_json_clean_string(item->reason))
		    : json_null();
}
