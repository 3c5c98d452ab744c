/* SPDX-License-Identifier: MIT */
/* What disks and people do to files: kinds of damage, each at any offset. */
#ifndef TESTS_SUPPORT_DAMAGE_H
#define TESTS_SUPPORT_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>

struct damage {
	const char *what;
	unsigned char mask; /* of one byte */
	size_t zeros;	    /* so many bytes; SIZE_MAX: to the end */
	bool cut;
};

enum { DAMAGES = 8 };
extern const struct damage damages[DAMAGES];

/* A damaged copy, the caller's, and its size; NULL where nothing changes. */
char *damage_make(
	const struct damage *damage, const void *bytes, size_t *size, size_t at);

#endif
