/* SPDX-License-Identifier: MIT */
/* Chunks that are filled from the front and freed as a whole. */
#include "lib/base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 32 << 10, ALIGN = alignof(max_align_t) };

struct chunk {
	struct chunk *next;
	alignas(max_align_t) unsigned char bytes[];
};

struct kp_arena {
	struct chunk *chunks;
	size_t used, size; /* of the first chunk */
};

struct kp_arena *kp_arena_new(void)
{
	return calloc(1, sizeof(struct kp_arena));
}

void kp_arena_free(struct kp_arena *arena)
{
	if (!arena)
		return;
	for (struct chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(arena);
}

static int add_chunk(struct kp_arena *arena, size_t least)
{
	size_t size = least > CHUNK_BYTES ? least : CHUNK_BYTES;
	size_t whole;

	if (__builtin_add_overflow(size, sizeof(struct chunk), &whole))
		return -1;
	struct chunk *chunk = calloc(1, whole);
	if (!chunk)
		return -1;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	arena->used = 0;
	arena->size = size;
	return 0;
}

void *kp_arena_alloc(struct kp_arena *arena, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) ||
		__builtin_add_overflow(bytes, ALIGN, &bytes))
		return NULL;
	bytes = bytes / ALIGN * ALIGN;
	if ((!arena->chunks || bytes > arena->size - arena->used) &&
		add_chunk(arena, bytes) < 0)
		return NULL;
	void *result = arena->chunks->bytes + arena->used;
	arena->used += bytes;
	return result;
}

char *kp_arena_strdup(struct kp_arena *arena, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = kp_arena_alloc(arena, size, 1);
	return copy ? memcpy(copy, text, size) : NULL;
}
