/* SPDX-License-Identifier: MIT */
/* FNV-1a, a byte at a time, and a quicker one, a word at a time. */
#include "lib/base/hash.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t kp_hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * 0x100000001b3U;
	return hash;
}

uint64_t kp_hash_words(uint64_t hash, const void *bytes, size_t size)
{
	static const uint64_t factor = 0x9e3779b97f4a7c15U;
	const unsigned char *at = bytes;
	uint64_t word;

	hash ^= size;
	for (; size >= sizeof(word); size -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = (hash ^ le64toh(word)) * factor;
		hash ^= hash >> 32;
	}
	word = 0;
	if (size > 0)
		memcpy(&word, at, size);
	hash = (hash ^ le64toh(word)) * factor;
	return hash ^ hash >> 32;
}

const char *kp_hash_print(const void *bytes, size_t size, char text[KP_HASH_TEXT])
{
	(void)snprintf(text, KP_HASH_TEXT, "%016" PRIx64,
		kp_hash_bytes(KP_HASH_START, bytes, size));
	return text;
}
