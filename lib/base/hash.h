/* SPDX-License-Identifier: MIT */
/*
 * FNV-1a of 64 bits (http://www.isthe.com/chongo/tech/comp/fnv): tells texts and
 * records apart, and protects against nobody who wants two to be alike.
 */
#ifndef KP_LIB_HASH_H
#define KP_LIB_HASH_H

#include <stddef.h>
#include <stdint.h>

static const uint64_t KP_HASH_START = 0xcbf29ce484222325U;
enum { KP_HASH_TEXT = 17 };

/* Goes on from `hash`, KP_HASH_START at first. */
uint64_t kp_hash_bytes(uint64_t hash, const void *bytes, size_t size);

/*
 * The same for much at a time: of little-endian words of 8 bytes, the last one filled up
 * with zeros, and of the size. Each step is a bijection of what was before and of the
 * word: of two that differ in one word only, the hashes differ.
 */
uint64_t kp_hash_words(uint64_t hash, const void *bytes, size_t size);

/* The hash of the bytes as 16 hexadecimal digits. Returns `text`. */
const char *kp_hash_print(const void *bytes, size_t size, char text[KP_HASH_TEXT]);

#endif
