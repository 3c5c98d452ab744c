/* SPDX-License-Identifier: MIT */
/* Why a kernel was not selected: one predicate as a sentence. */
#ifndef CMD_EXCLUSION_H
#define CMD_EXCLUSION_H

#include <jansson.h>

struct grid;

/* "code: required R, actual A (source)"; malloc'ed, NULL when memory is exhausted. */
char *exclusion_print(const json_t *exclusion);

/* The first as the last cell of the row that was begun, each other one as a row below. */
void exclusion_add(struct grid *grid, const json_t *reasons);

#endif
