/* SPDX-License-Identifier: MIT */
/* A set-associative table of questions and answers. */
#include "daemon/socket/answers.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"

struct answer {
	uint64_t hash;
	size_t size, length;
	uint64_t *count; /* of the calls that are answered with it, or NULL */
	char bytes[];	 /* the question, then the answer */
};

static struct answer **set_of(const struct answers *answers, uint64_t hash)
{
	return answers->ways + (hash ^ hash >> 32) % ANSWERS_SETS * ANSWERS_WAYS;
}

static bool is_to(
	const struct answer *answer, uint64_t hash, const char *question, size_t size)
{
	return answer && answer->hash == hash && answer->size == size &&
	       memcmp(answer->bytes, question, size) == 0;
}

const char *answers_find(
	const struct answers *answers, const char *question, size_t size, size_t *length)
{
	if (!answers->ways || size > ANSWERS_ENTRY_BYTES)
		return NULL;
	uint64_t hash = kp_hash_bytes(KP_HASH_START, question, size);
	struct answer **set = set_of(answers, hash);
	for (size_t i = 0; i < ANSWERS_WAYS; i++) {
		if (!is_to(set[i], hash, question, size))
			continue;
		*length = set[i]->length;
		if (set[i]->count)
			++*set[i]->count;
		return set[i]->bytes + size;
	}
	return NULL;
}

/* The way to put it: that of the same question, a free one, or whose turn it is. */
static struct answer **way_for(
	struct answers *answers, uint64_t hash, const char *question, size_t size)
{
	struct answer **set = set_of(answers, hash);
	struct answer **way = NULL;

	for (size_t i = 0; i < ANSWERS_WAYS; i++) {
		if (is_to(set[i], hash, question, size))
			return &set[i];
		if (!set[i] && !way)
			way = &set[i];
	}
	return way ? way : &set[answers->turn++ % ANSWERS_WAYS];
}

void answers_keep(struct answers *answers, const char *question, size_t size,
	const char *answer, size_t length, uint64_t *count)
{
	if (size > ANSWERS_ENTRY_BYTES || length > ANSWERS_ENTRY_BYTES - size)
		return;
	if (answers->bytes + size + length > ANSWERS_BYTES)
		answers_clear(answers);
	if (!answers->ways)
		answers->ways = calloc(
			(size_t)ANSWERS_SETS * ANSWERS_WAYS, sizeof(*answers->ways));
	struct answer *new = malloc(sizeof(*new) + size + length);
	if (!answers->ways || !new) {
		free(new);
		return;
	}
	new->hash = kp_hash_bytes(KP_HASH_START, question, size);
	new->size = size;
	new->length = length;
	new->count = count;
	memcpy(new->bytes, question, size);
	memcpy(new->bytes + size, answer, length);
	struct answer **way = way_for(answers, new->hash, question, size);
	if (*way)
		answers->bytes -= (*way)->size + (*way)->length;
	free(*way);
	*way = new;
	answers->bytes += size + length;
}

void answers_clear(struct answers *answers)
{
	for (size_t i = 0; answers->ways && i < (size_t)ANSWERS_SETS * ANSWERS_WAYS; i++)
		free(answers->ways[i]);
	free(answers->ways);
	*answers = (struct answers){0};
}
