/* SPDX-License-Identifier: MIT */
/* The runs of a benchmark as a table: grouped by shape, the fastest first. Asks nobody.
 */
#ifndef CMD_BENCH_TABLE_H
#define CMD_BENCH_TABLE_H

#include <jansson.h>
#include <stdbool.h>

#include "cmd/output.h"

struct grid;

/*
 * Is every verdict "ok" (or, where nobody was asked whether results are right,
 * "unverified"), and is there one at all?
 */
bool bench_table_is_good(const json_t *runs, bool is_unchecked);

/* Has somebody shown that the kernel is not right? Its verdict then begins with FAIL. */
bool bench_table_is_failure(const char *verdict);

/* Is it the same operation, signature, shape and traits? */
bool bench_table_same_work(const json_t *a, const json_t *b);

/* "gemm/mm m 64, n 128, k 64 a=f32,b=f32,c=f32 with causal true" as a heading. */
int bench_table_put_heading(const struct output *output, const json_t *run)
	__attribute__((warn_unused_result));

/* Microseconds in a unit that leaves a few digits: "812 ns", "1.24 ms". */
void bench_table_add_duration(struct grid *grid, const json_t *us);

/*
 * A result, grouped by what was measured, the fastest that is right first, those that
 * are wrong last; then on what and how. With quiet: one line a run, kernel, shape and
 * median in microseconds with tabs between them. KP_EXIT_OK, or for memory.
 */
int bench_table_print(const struct output *output, const json_t *document)
	__attribute__((warn_unused_result));

#endif
