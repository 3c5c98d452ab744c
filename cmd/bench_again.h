/* SPDX-License-Identifier: MIT */
/* What must be asked to measure again what a result has. Pure. */
#ifndef CMD_BENCH_AGAIN_H
#define CMD_BENCH_AGAIN_H

#include <jansson.h>

#include "lib/base/diag.h"

/*
 * Of the result those runs that are of the operation or family (NULL: all). Code
 * other_operation where there is none. A new reference.
 */
int bench_again_select(const json_t *document, const char *operation, json_t **runs,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * Parameters of Bench, one object for each operation, signature and set of traits of the
 * runs: with their shapes, and with seed, threads, time, rounds and kernels of the
 * result; `asked` (parameters from a command line) goes before all of it. A new
 * reference, NULL when memory is exhausted.
 */
json_t *bench_again_questions(
	const json_t *document, const json_t *runs, const json_t *asked);

#endif
