/* SPDX-License-Identifier: MIT */
/* Entries of decisions in order of library, then of kernel. */
#include "lib/registry/decisions_index.h"

#include <stdlib.h>
#include <string.h>

enum key { BY_DIGEST, BY_PACKAGE };

static const char *library_of(const struct kp_disabled *item, enum key key)
{
	return key == BY_DIGEST ? item->digest : item->package;
}

/* "" of a whole plugin: no kernel is called so. */
static const char *kernel_of(const struct kp_disabled *item)
{
	const char *slash = strchr(item->name, '/');
	return slash ? slash + 1 : "";
}

static int compare(const struct kp_disabled *item, enum key key, const char *library,
	const char *kernel)
{
	int order = strcmp(library_of(item, key), library);
	return order ? order : strcmp(kernel_of(item), kernel);
}

struct order {
	const struct kp_disabled *items;
	enum key key;
};

/* Entries are in order of name: so are those of one key. */
static int compare_items(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;
	const struct kp_disabled *second = &order->items[y];
	int result = compare(&order->items[x], order->key, library_of(second, order->key),
		kernel_of(second));
	return result ? result : (x > y) - (x < y);
}

static uint32_t *sort(const struct kp_decisions *decisions, enum key key, size_t *count)
{
	struct order order = {decisions->disabled, key};
	uint32_t *items = calloc(decisions->n_disabled + 1, sizeof(*items));
	size_t n = 0;

	if (!items)
		return NULL;
	for (size_t i = 0; i < decisions->n_disabled; i++) {
		const char *library = library_of(&decisions->disabled[i], key);
		if (library && library[0])
			items[n++] = (uint32_t)i;
	}
	qsort_r(items, n, sizeof(*items), compare_items, &order);
	*count = n;
	return items;
}

int kp_decisions_index_make(
	struct kp_decisions_index *index, const struct kp_decisions *decisions)
{
	kp_decisions_index_finish(index);
	index->by_digest = sort(decisions, BY_DIGEST, &index->n_digests);
	index->by_package = sort(decisions, BY_PACKAGE, &index->n_packages);
	if (index->by_digest && index->by_package)
		return 0;
	kp_decisions_index_finish(index);
	return -1;
}

void kp_decisions_index_finish(struct kp_decisions_index *index)
{
	free(index->by_digest);
	free(index->by_package);
	*index = (struct kp_decisions_index){0};
}

/* The entry's number, or UINT32_MAX. */
static uint32_t find(const struct kp_decisions *decisions, const uint32_t *items,
	size_t count, enum key key, const char *library, const char *kernel)
{
	size_t low = 0, high = count;

	if (!library || !library[0])
		return UINT32_MAX;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare(&decisions->disabled[items[middle]], key, library, kernel) <
			0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && compare(&decisions->disabled[items[low]], key, library,
				      kernel) == 0
		       ? items[low]
		       : UINT32_MAX;
}

const struct kp_disabled *kp_decisions_find_library(
	const struct kp_decisions_index *index, const struct kp_decisions *decisions,
	const char *digest, const char *package, const char *kernel)
{
	const char *name = kernel ? kernel : "";
	uint32_t by_digest = find(
		decisions, index->by_digest, index->n_digests, BY_DIGEST, digest, name);
	uint32_t by_package = find(decisions, index->by_package, index->n_packages,
		BY_PACKAGE, package, name);
	uint32_t first = by_digest < by_package ? by_digest : by_package;
	return first == UINT32_MAX ? NULL : &decisions->disabled[first];
}
