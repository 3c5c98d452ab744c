/* SPDX-License-Identifier: MIT */
/*
 * The codes of findings about files and machines: how bad each is, what it means and
 * what to do. `check`, `doctor`, the manual and its test read these tables. Finds
 * nothing itself.
 */
#ifndef KP_LIB_LINT_CODE_H
#define KP_LIB_LINT_CODE_H

#include <stddef.h>

/* As in SARIF 2.1.0; the order counts. */
enum kp_severity { KP_SEVERITY_NOTE, KP_SEVERITY_WARNING, KP_SEVERITY_ERROR };
enum { KP_SEVERITIES = 3 };

struct kp_code {
	const char *code;
	enum kp_severity severity;
	const char *about;  /* what it means */
	const char *remedy; /* what to do */
};

struct kp_code_table {
	const struct kp_code *rows; /* in byte order of code */
	size_t count;
};
extern const struct kp_code_table kp_codes_of_text, kp_codes_of_library,
	kp_codes_of_probe, kp_codes_of_machine;

const char *kp_severity_name(enum kp_severity severity); /* "note", "warning", "error" */

/* All rows, table after table; NULL behind the last. */
const struct kp_code *kp_code_at(size_t index);

/* Of a code that no table has: the row of "failed", an error. Never NULL. */
const struct kp_code *kp_code_find(const char *code);

#endif
