/* SPDX-License-Identifier: MIT */
/* The rows of a verification: a line for each kernel and signature. */
#ifndef CMD_VERIFY_TABLE_H
#define CMD_VERIFY_TABLE_H

#include <jansson.h>
#include <stdbool.h>

#include "cmd/output.h"

/* Is nothing wrong, and every kernel and signature right somewhere? */
bool verify_table_all_right(const json_t *runs);

/*
 * The document has "runs" and "remarks". With quiet: kernel, signature and verdict with
 * tabs between them. KP_EXIT_OK, or for memory.
 */
int verify_table_print(const struct output *output, const json_t *document)
	__attribute__((warn_unused_result));

#endif
