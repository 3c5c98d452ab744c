/* SPDX-License-Identifier: MIT */
/* Findings as SARIF 2.1.0, the form that code hosts and editors read. */
#ifndef CMD_SARIF_H
#define CMD_SARIF_H

#include <jansson.h>
#include <stdbool.h>

/*
 * The document for [{"file", "line", "column", "severity", "code", "message", "remedy"}]
 * (lib/lint/lint.h). Rules are all codes of lib/lint/code.h. A new reference, NULL when
 * memory is exhausted.
 */
json_t *sarif_document(const json_t *findings, int exit_status);

#endif
