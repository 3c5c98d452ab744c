/* SPDX-License-Identifier: MIT */
/* Walking kernels by rank. */
#include "lib/select/rank.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_tagged(const struct kp_query *query, const unsigned char *kernel)
{
	/* Without an objective no kernel is. */
	return query->request->objective != KP_OBJECTIVE_DEFAULT &&
	       kernel[KP_KERNEL_OBJECTIVES] >> query->request->objective & 1;
}

struct kp_rank kp_rank_of(const struct kp_query *query, size_t kernel)
{
	const unsigned char *record = kp_table_kernel(query->table, kernel);
	return (struct kp_rank){record[KP_KERNEL_POLICY], is_tagged(query, record),
		record[KP_KERNEL_PRIORITY]};
}

bool kp_rank_equal(const struct kp_rank *a, const struct kp_rank *b)
{
	return a->policy == b->policy && a->objective == b->objective &&
	       a->priority == b->priority;
}

const char *kp_rank_print(const struct kp_rank *rank, char *text, size_t size)
{
	(void)snprintf(text, size, "policy=%d objective=%d priority=%d", rank->policy,
		rank->objective, rank->priority);
	return text;
}

json_t *kp_rank_json(const struct kp_rank *rank)
{
	return json_pack("{s:i, s:i, s:i}", "policy", rank->policy, "objective",
		rank->objective, "priority", rank->priority);
}

static const unsigned char *walk_kernel(const struct kp_rank_walk *walk, size_t at)
{
	return kp_table_kernel(walk->query->table, kp_load32(walk->items + 4 * at));
}

/* A run has one policy score: the objective ranks inside it, before the priority. */
static void start_run(struct kp_rank_walk *walk, size_t first)
{
	walk->first = walk->at = walk->end = first;
	walk->untagged = false;
	if (first == walk->count)
		return;
	/* Without an objective no kernel is tagged: one run of all, untagged. */
	if (walk->query->request->objective == KP_OBJECTIVE_DEFAULT) {
		walk->untagged = true;
		walk->end = walk->count;
		return;
	}
	unsigned policy = walk_kernel(walk, first)[KP_KERNEL_POLICY];
	while (walk->end < walk->count &&
		walk_kernel(walk, walk->end)[KP_KERNEL_POLICY] == policy)
		walk->end++;
}

/* Without an objective this looks at no record. */
static bool is_of_pass(const struct kp_rank_walk *walk, size_t at)
{
	const struct kp_query *query = walk->query;
	return query->request->objective == KP_OBJECTIVE_DEFAULT
		       ? walk->untagged
		       : is_tagged(query, walk_kernel(walk, at)) != walk->untagged;
}

bool kp_rank_walk_next(struct kp_rank_walk *walk, size_t *kernel, size_t *like)
{
	for (;;) {
		while (walk->at < walk->end) {
			size_t at = walk->at++;
			if (!is_of_pass(walk, at))
				continue;
			*kernel = kp_load32(walk->items + 4 * at);
			if (like)
				*like = kp_load32(walk->fits + 4 * at);
			return true;
		}
		if (walk->end == walk->count && walk->untagged)
			return false;
		if (walk->first == walk->count)
			return false;
		if (walk->untagged) {
			start_run(walk, walk->end);
		} else {
			walk->untagged = true;
			walk->at = walk->first;
		}
	}
}

int kp_rank_walk_init(struct kp_rank_walk *walk, const struct kp_query *query)
{
	if (query->request->any_signature)
		return kp_rank_walk_init_all(walk, query);
	*walk = (struct kp_rank_walk){.query = query};
	if (query->entry != SIZE_MAX) {
		const unsigned char *signature = kp_table_record(
			query->table, KP_SECTION_SIGNATURES, query->entry);
		struct kp_list bucket = kp_table_list(
			query->table, kp_load32(signature + KP_SIGNATURE_KERNELS));
		struct kp_list fits = kp_table_list(
			query->table, kp_load32(signature + KP_SIGNATURE_FITS));
		walk->items = bucket.items;
		walk->count = bucket.count;
		/* A table of strangers may have others. */
		walk->fits = fits.count == bucket.count ? fits.items : bucket.items;
	}
	start_run(walk, 0);
	return 0;
}

static int compare(const void *a, const void *b, void *context)
{
	const struct kp_table *table = context;
	uint32_t i = kp_load32(a);
	uint32_t j = kp_load32(b);
	const unsigned char *x = kp_table_kernel(table, i);
	const unsigned char *y = kp_table_kernel(table, j);

	if (x[KP_KERNEL_POLICY] != y[KP_KERNEL_POLICY])
		return x[KP_KERNEL_POLICY] < y[KP_KERNEL_POLICY] ? 1 : -1;
	if (x[KP_KERNEL_PRIORITY] != y[KP_KERNEL_PRIORITY])
		return x[KP_KERNEL_PRIORITY] < y[KP_KERNEL_PRIORITY] ? 1 : -1;
	return i < j ? -1 : i > j;
}

int kp_rank_walk_init_all(struct kp_rank_walk *walk, const struct kp_query *query)
{
	const unsigned char *operation =
		kp_table_record(query->table, KP_SECTION_OPERATIONS, query->operation);
	uint32_t first = kp_load32(operation + KP_OPERATION_KERNELS);
	struct kp_table table = *query->table;

	*walk = (struct kp_rank_walk){.query = query};
	walk->count = kp_load32(operation + KP_OPERATION_KERNELS + 4);
	walk->own = calloc(walk->count + 1, sizeof(*walk->own));
	if (!walk->own)
		return -1;
	walk->items = walk->fits = (const unsigned char *)walk->own;
	for (size_t i = 0; i < walk->count; i++)
		kp_store32((unsigned char *)&walk->own[i], first + (uint32_t)i);
	qsort_r(walk->own, walk->count, sizeof(*walk->own), compare, &table);
	start_run(walk, 0);
	return 0;
}

void kp_rank_walk_finish(struct kp_rank_walk *walk)
{
	free(walk->own);
	walk->own = NULL;
}
