/* SPDX-License-Identifier: MIT */
/*
 * The index of a start. Its size and sum are made right, so that the rest of it is looked
 * at; what is taken is written as it was read.
 */
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/scan/index.h"
#include "lib/base/hash.h"

enum { SIZE = 8, SUM = 16, HEAD = 24 };

/* FNV-1a a word at a time, as the file has it. */
static uint64_t sum_of(const char *bytes, size_t size)
{
	uint64_t hash = KP_HASH_START, word;

	for (; size >= sizeof(word); bytes += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = (hash ^ word) * 0x100000001b3U;
	}
	return kp_hash_bytes(hash, bytes, size);
}

static void seal(char *bytes, size_t size)
{
	uint64_t all = size, sum;

	if (size < HEAD)
		return;
	sum = sum_of(bytes + HEAD, size - HEAD);
	memcpy(bytes + SIZE, &all, sizeof(all));
	memcpy(bytes + SUM, &sum, sizeof(sum));
}

static void write_again(const struct index *index)
{
	struct index_text text = {0};
	struct kp_diag diag;
	size_t size;

	index_begin(&text, index->key, index->decisions, index->generation);
	for (size_t i = 0; i < index->count; i++)
		index_add(&text, &index->items[i]);
	void *bytes = index_end(&text, &size);
	target_claim(bytes != NULL);
	struct index *again = index_read(bytes, size, &diag);
	target_claim(again != NULL && again->count == index->count);
	index_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *copy = target_copy(bytes, size);
	struct kp_diag diag;

	seal(copy, size);
	struct index *index = index_read(copy, size, &diag);
	if (!index) {
		target_is_refused(&diag);
		return 0;
	}
	for (size_t i = 0; i < index->count; i++)
		target_claim(index_find(index, index->items[i].manifest.name) ==
			     &index->items[i]);
	write_again(index);
	index_free(index);
	return 0;
}
