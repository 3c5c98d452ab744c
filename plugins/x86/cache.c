/* SPDX-License-Identifier: MIT */
/* Reads and checks the tables of a paged cache. Knows no arithmetic. */
#include "cache.h"

#include <inttypes.h>
#include <stdio.h>

#include "processor.h"

enum { Q, K_PAGES, V_PAGES, PAGE_TABLE, LENS };

static struct pages pages_of(const struct kp_tensor *tensor)
{
	int64_t bytes = tensor->dtype.bits / 8;
	struct pages pages = {tensor->data, tensor->strides[0] * bytes,
		tensor->strides[1] * bytes, tensor->strides[2] * bytes,
		tensor->strides[3] * bytes};

	return pages;
}

struct cache cache_of(const struct kp_call *call)
{
	const struct kp_tensor *table = call->tensors[PAGE_TABLE];
	const struct kp_tensor *lens = call->tensors[LENS];
	const int64_t *shape = call->tensors[K_PAGES]->shape;
	struct cache cache = {pages_of(call->tensors[K_PAGES]),
		pages_of(call->tensors[V_PAGES]), table->data, lens->data,
		table->strides[0] * 4, table->strides[1] * 4, lens->strides[0] * 4,
		table->shape[0], shape[0], shape[1], table->shape[1]};

	return cache;
}

static int check_length(
	const struct cache *cache, int64_t sequence, struct kp_error *error)
{
	int64_t length = cache_length(cache, sequence), most;
	char text[128];

	/* What no int32 can be is no limit. */
	if (__builtin_mul_overflow(cache->page, cache->entries, &most))
		most = INT64_MAX;
	if (length >= 0 && length <= most)
		return KP_OK;
	(void)snprintf(text, sizeof(text),
		"lens: sequence %" PRId64 " has %" PRId64
		" tokens, its pages hold %" PRId64,
		sequence, length, most);
	return processor_fail(error, KP_INVALID, text);
}

static int check_pages(
	const struct cache *cache, int64_t sequence, struct kp_error *error)
{
	int64_t length = cache_length(cache, sequence);
	char text[128];

	for (int64_t i = 0; i * cache->page < length; i++) {
		int64_t page = cache_page(cache, sequence, i);

		if (page >= 0 && page < cache->pages)
			continue;
		(void)snprintf(text, sizeof(text),
			"page_table: page %" PRId64 " of sequence %" PRId64
			" is not one of %" PRId64,
			page, sequence, cache->pages);
		return processor_fail(error, KP_INVALID, text);
	}
	return KP_OK;
}

int cache_check(const struct cache *cache, struct kp_error *error)
{
	int status = KP_OK;

	for (int64_t i = 0; i < cache->sequences && status == KP_OK; i++) {
		status = check_length(cache, i, error);
		if (status == KP_OK)
			status = check_pages(cache, i, error);
	}
	return status;
}
