/* SPDX-License-Identifier: MIT */
/* Copies of files that were cut, changed or zeroed. */
#include "tests/support/damage.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

const struct damage damages[DAMAGES] = {
	{"cut", 0, 0, true},
	{"a bit", 0x01, 0, false},
	{"a high bit", 0x80, 0, false},
	{"a case", 0x20, 0, false},
	{"a byte", 0xff, 0, false},
	{"a zero", 0, 1, false},
	{"a zeroed sector", 0, 512, false},
	{"zeroes to the end", 0, SIZE_MAX, false},
};

char *damage_make(const struct damage *damage, const void *bytes, size_t *size, size_t at)
{
	size_t whole = *size;
	size_t zeros = damage->zeros < whole - at ? damage->zeros : whole - at;
	char *copy = malloc(whole + 1);

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes, whole);
	copy[at] = (char)(copy[at] ^ damage->mask);
	memset(copy + at, 0, zeros);
	if (damage->cut)
		*size = at;
	if (*size == whole && memcmp(copy, bytes, whole) == 0) {
		free(copy);
		return NULL;
	}
	return copy;
}
