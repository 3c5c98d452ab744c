/* SPDX-License-Identifier: MIT */
/* The paged cache of attention/decode: where the keys and values of tokens lie. */
#ifndef X86_CACHE_H
#define X86_CACHE_H

#include <stdint.h>

#include "kplug/plugin.h"

/* Keys or values, [pages, page, heads, d]; steps count bytes. */
struct pages {
	const char *data;
	int64_t page_step, row_step, head_step, step;
};

struct cache {
	struct pages keys, values;
	const char *table, *lens; /* of i32 */
	int64_t sequence_step, entry_step, len_step;
	int64_t sequences, pages, page, entries;
};

/* From the tensors of a call in the order of the family. */
struct cache cache_of(const struct kp_call *call);

static inline int32_t cache_integer(const char *at)
{
	return *(const int32_t *)(const void *)at;
}

/* Tokens of a sequence. */
static inline int64_t cache_length(const struct cache *cache, int64_t sequence)
{
	return cache_integer(cache->lens + sequence * cache->len_step);
}

/* The page of the sequence's table that holds a token. */
static inline int64_t cache_page(
	const struct cache *cache, int64_t sequence, int64_t entry)
{
	return cache_integer(cache->table + sequence * cache->sequence_step +
			     entry * cache->entry_step);
}

/*
 * Lengths and tables that lead out of the cache are refused before anything is read by
 * them. KP_INVALID, and told.
 */
int cache_check(const struct cache *cache, struct kp_error *error);

#endif
