/* SPDX-License-Identifier: MIT */
/* Locals that release what they hold when they go out of scope. */
#ifndef KP_LIB_OWNED_H
#define KP_LIB_OWNED_H

#include <jansson.h>
#include <stdlib.h>

#include "lib/base/file.h"

static inline void kp_owned_free(char **text)
{
	free(*text);
}

/* `owned_fd fd = open(...)`, -1 afterwards where it was given away; NULL likewise. */
#define owned_fd   __attribute__((cleanup(kp_file_close))) int
#define owned_text __attribute__((cleanup(kp_owned_free))) char *
#define owned_json __attribute__((cleanup(json_decrefp))) json_t

/* Entries of an array (not of a pointer). */
#define KP_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
