/* SPDX-License-Identifier: MIT */
/* FNV-1a, a byte at a time. */
#include "lib/base/hash.h"

#include <inttypes.h>
#include <stdio.h>

uint64_t kp_hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * 0x100000001b3U;
	return hash;
}

const char *kp_hash_print(const void *bytes, size_t size, char text[KP_HASH_TEXT])
{
	(void)snprintf(text, KP_HASH_TEXT, "%016" PRIx64,
		kp_hash_bytes(KP_HASH_START, bytes, size));
	return text;
}
