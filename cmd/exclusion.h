/* SPDX-License-Identifier: MIT */
/* Why a kernel was not selected: one predicate as a sentence. */
#ifndef CMD_EXCLUSION_H
#define CMD_EXCLUSION_H

#include <jansson.h>

/* "code: requires R, has A (source)"; malloc'ed, NULL when memory is exhausted. */
char *exclusion_print(const json_t *exclusion);

#endif
