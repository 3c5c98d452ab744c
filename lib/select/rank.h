/* SPDX-License-Identifier: MIT */
/*
 * Kernels of a query in order of rank: policy, objective, priority, then names.
 * Knows nothing of eligibility.
 */
#ifndef KP_LIB_RANK_H
#define KP_LIB_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/select/query.h"

/* The kernels are sorted by policy and priority; the objective is a second pass. */
struct kp_rank_walk {
	const struct kp_query *query;
	const unsigned char *items; /* words, or `own` */
	const unsigned char *fits;  /* words: of each the first that fits like it */
	uint32_t *own;
	size_t count, at, first, end;
	bool untagged;
};

/* The kernels of the query's signature. With any_signature those of the operation. */
int kp_rank_walk_init(struct kp_rank_walk *walk, const struct kp_query *query)
	__attribute__((warn_unused_result));
/* All kernels of the operation. -1: memory. */
int kp_rank_walk_init_all(struct kp_rank_walk *walk, const struct kp_query *query)
	__attribute__((warn_unused_result));
/* The next one, where that takes a look at the walk alone: for kp_rank_walk_next. */
static inline bool kp_rank_walk_step(
	struct kp_rank_walk *walk, size_t *kernel, size_t *like)
{
	if (walk->at >= walk->end || !walk->untagged ||
		walk->query->request->objective != KP_OBJECTIVE_DEFAULT)
		return false;
	*kernel = kp_load32(walk->items + 4 * walk->at);
	*like = kp_load32(walk->fits + 4 * walk->at++);
	return true;
}
/* *like (may be NULL) is the kernel that it fits like, as far as is known; or itself. */
bool kp_rank_walk_next(struct kp_rank_walk *walk, size_t *kernel, size_t *like);
void kp_rank_walk_finish(struct kp_rank_walk *walk);

struct kp_rank kp_rank_of(const struct kp_query *query, size_t kernel);
bool kp_rank_equal(const struct kp_rank *a, const struct kp_rank *b);
/* "policy=14 objective=1 priority=10"; returns `text`. */
const char *kp_rank_print(const struct kp_rank *rank, char *text, size_t size);
json_t *kp_rank_json(const struct kp_rank *rank);

#endif
