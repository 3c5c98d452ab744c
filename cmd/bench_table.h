/* SPDX-License-Identifier: MIT */
/* The runs of a benchmark as a table: grouped by shape, the fastest first. */
#ifndef CMD_BENCH_TABLE_H
#define CMD_BENCH_TABLE_H

#include <jansson.h>
#include <stdbool.h>

#include "cmd/output.h"

/* Is every verdict "ok", and is there one at all? */
bool bench_table_all_ok(const json_t *runs);

/*
 * With quiet: one line a run, kernel, shape and median in microseconds with tabs
 * between them. KP_EXIT_OK, or for memory.
 */
int bench_table_print(const struct output *output, const json_t *runs)
	__attribute__((warn_unused_result));

#endif
