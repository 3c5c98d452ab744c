/* SPDX-License-Identifier: MIT */
/* Bytes that grow, with a hash over the pieces that are kept once. */
#include "lib/base/intern.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"

/* offset is 1 more than the piece's; 0 is a free slot. */
struct kp_intern_slot {
	uint32_t hash;
	uint32_t offset;
};

/* Seen nowhere but here: what is kept, and where, does not depend on it. */
static uint32_t hash_of(const void *piece, size_t size)
{
	return (uint32_t)(kp_hash_words(0, piece, size) >> 32);
}

bool kp_intern_append(
	struct kp_intern *intern, const void *piece, size_t size, uint32_t *offset)
{
	size_t wanted;

	if (__builtin_add_overflow(intern->size, size, &wanted) ||
		wanted > KP_INTERN_MOST) {
		intern->is_full = true;
		return false;
	}
	if (wanted > intern->capacity) {
		size_t capacity = intern->capacity ? intern->capacity : 256;
		while (capacity < wanted)
			capacity *= 2;
		unsigned char *bytes = realloc(intern->bytes, capacity);
		if (!bytes)
			return false;
		intern->bytes = bytes;
		intern->capacity = capacity;
	}
	if (size > 0)
		memcpy(intern->bytes + intern->size, piece, size);
	*offset = (uint32_t)intern->size;
	intern->size = wanted;
	return true;
}

/* The slot of an equal piece, or the free one where it belongs. */
static struct kp_intern_slot *find(
	const struct kp_intern *intern, uint32_t hash, const void *piece, size_t size)
{
	size_t mask = intern->n_slots - 1;
	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		struct kp_intern_slot *slot = &intern->slots[i];
		if (!slot->offset)
			return slot;
		size_t at = slot->offset - 1;
		if (slot->hash == hash && size <= intern->size - at &&
			memcmp(intern->bytes + at, piece, size) == 0)
			return slot;
	}
}

static bool grow(struct kp_intern *intern)
{
	size_t n = intern->n_slots ? intern->n_slots * 2 : 64;
	struct kp_intern_slot *slots = calloc(n, sizeof(*slots));
	if (!slots)
		return false;
	for (size_t i = 0; i < intern->n_slots; i++) {
		if (!intern->slots[i].offset)
			continue;
		size_t to = intern->slots[i].hash & (n - 1);
		while (slots[to].offset)
			to = (to + 1) & (n - 1);
		slots[to] = intern->slots[i];
	}
	free(intern->slots);
	intern->slots = slots;
	intern->n_slots = n;
	return true;
}

bool kp_intern_add(
	struct kp_intern *intern, const void *piece, size_t size, uint32_t *offset)
{
	if (intern->used * 2 >= intern->n_slots && !grow(intern))
		return false;
	uint32_t hash = hash_of(piece, size);
	struct kp_intern_slot *slot = find(intern, hash, piece, size);
	if (!slot->offset) {
		uint32_t at;
		if (!kp_intern_append(intern, piece, size, &at))
			return false;
		slot->hash = hash;
		slot->offset = at + 1;
		intern->used++;
	}
	*offset = slot->offset - 1;
	return true;
}

void kp_intern_finish(struct kp_intern *intern)
{
	free(intern->bytes);
	free(intern->slots);
	*intern = (struct kp_intern){0};
}
