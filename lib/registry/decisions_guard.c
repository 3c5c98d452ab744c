/* SPDX-License-Identifier: MIT */
/* Guards: operations of which operators have one call in so many compared. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sorted.h"
#include "lib/registry/decisions_kind.h"

static struct kp_sorted list_of(const struct kp_decisions *d)
{
	return (struct kp_sorted){(char *)d->guards, d->n_guards, sizeof(*d->guards)};
}

static void remove_guard(struct kp_decisions *decisions, struct kp_sorted *list, size_t i)
{
	assert(decisions->guards);
	free(decisions->guards[i].operation);
	kp_sorted_close(list, i);
	decisions->n_guards = list->count;
}

static int add_guard(struct kp_decisions *decisions, struct kp_sorted *list, size_t i,
	const char *operation)
{
	char *copy = strdup(operation);

	if (!copy || kp_sorted_open(list, i) < 0) {
		free(copy);
		return -1;
	}
	decisions->guards = (struct kp_guarding *)(void *)list->base;
	decisions->guards[i].operation = copy;
	decisions->n_guards = list->count;
	return 0;
}

int kp_decisions_guard(struct kp_decisions *decisions, const char *operation,
	uint32_t every, int64_t at, uint32_t uid, bool *changed)
{
	struct kp_sorted list = list_of(decisions);
	bool found;
	size_t i = kp_sorted_place(&list, operation, &found);

	*changed = found ? decisions->guards[i].every != every : every != 0;
	if (!*changed)
		return 0;
	if (every == 0) {
		remove_guard(decisions, &list, i);
		return 0;
	}
	if (!found && add_guard(decisions, &list, i, operation) < 0)
		return -1;
	decisions->guards[i].every = every;
	decisions->guards[i].at = at;
	decisions->guards[i].uid = uid;
	return 0;
}

const struct kp_guarding *kp_decisions_find_guard(
	const struct kp_decisions *decisions, const char *operation)
{
	struct kp_sorted list = list_of(decisions);
	bool found;
	size_t i = kp_sorted_place(&list, operation, &found);
	return found ? &decisions->guards[i] : NULL;
}

int kp_decisions_copy_guards(const struct kp_decisions *from, struct kp_decisions *to)
{
	bool changed;
	int result = 0;

	for (size_t i = 0; i < from->n_guards && result == 0; i++) {
		const struct kp_guarding *guard = &from->guards[i];
		result = kp_decisions_guard(to, guard->operation, guard->every, guard->at,
			guard->uid, &changed);
	}
	return result;
}

void kp_decisions_finish_guards(struct kp_decisions *decisions)
{
	for (size_t i = 0; i < decisions->n_guards; i++)
		free(decisions->guards[i].operation);
	free(decisions->guards);
}
