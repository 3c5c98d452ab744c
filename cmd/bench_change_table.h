/* SPDX-License-Identifier: MIT */
/* A comparison of two results as a table. Asks nobody. */
#ifndef CMD_BENCH_CHANGE_TABLE_H
#define CMD_BENCH_CHANGE_TABLE_H

#include <jansson.h>

#include "cmd/output.h"

/*
 * kplug-compare/1, by what was measured; then how many of each verdict. With quiet: one
 * line a row, kernel, shape, ratio (or -) and verdict with tabs between them. KP_EXIT_OK,
 * or for memory.
 */
int bench_change_table_print(const struct output *output, const json_t *document)
	__attribute__((warn_unused_result));

#endif
