/* SPDX-License-Identifier: MIT */
/* Findings of `check` and `doctor`, told: as text, as one JSON document, as a status. */
#ifndef CMD_FINDINGS_H
#define CMD_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>

#include "cmd/output.h"
#include "lib/lint/lint.h"

/* KP_EXIT_NO where there is an error, or, with `warnings_count`, a warning. */
int findings_status(const struct kp_lint *lint, bool warnings_count);

/*
 * A line each, `file:line:column: severity: code: text`, and its remedy below it. With
 * --quiet errors alone, and what counts like them.
 */
void findings_put(
	const struct output *output, const struct kp_lint *lint, bool warnings_count);

/* {"findings", "counts", "dropped"}; NULL when memory is exhausted. */
json_t *findings_json(const struct kp_lint *lint);

/* "2 errors, 1 warning, 0 notes" into `text`; returns it. */
enum { FINDINGS_COUNTS = 96 };
const char *findings_counts(const struct kp_lint *lint, char text[FINDINGS_COUNTS]);

#endif
