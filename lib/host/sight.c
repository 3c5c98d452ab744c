/* SPDX-License-Identifier: MIT */
/* Counting references to tables. */
#include "lib/host/sight.h"

#include <stdlib.h>

struct kp_sight *kp_sight_new(struct kp_view *view, uint64_t number, uint64_t boot)
{
	struct kp_sight *sight = calloc(1, sizeof(*sight));

	if (!sight) {
		kp_view_drop(view);
		return NULL;
	}
	*sight = (struct kp_sight){
		.table = view->table,
		.generation = view->generation,
		.number = number,
		.boot = boot,
		.numbers = view->numbers,
		.count = view->count,
		.view = view,
		.references = 1,
	};
	return sight;
}

struct kp_sight *kp_sight_share(struct kp_sight *sight)
{
	__atomic_add_fetch(&sight->references, 1, __ATOMIC_RELAXED);
	return sight;
}

void kp_sight_drop(struct kp_sight *sight)
{
	if (!sight || __atomic_sub_fetch(&sight->references, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	kp_view_drop(sight->view);
	free(sight->bytes);
	free(sight->own);
	free(sight);
}
