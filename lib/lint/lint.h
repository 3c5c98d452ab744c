/* SPDX-License-Identifier: MIT */
/*
 * Findings about files, gathered: each has a place, a code of lib/lint/code.h, a
 * sentence and a remedy. The lint_* functions look at texts that were read and at notes;
 * nothing here opens a file, and no byte of a library comes here.
 */
#ifndef KP_LIB_LINT_LINT_H
#define KP_LIB_LINT_LINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/diag.h"
#include "lib/family/family.h"
#include "lib/lint/code.h"
#include "lib/plugin/manifest.h"
#include "lib/plugin/note.h"

enum { KP_LINT_MOST = 10000 }; /* findings that are kept */

/* Zero it. */
struct kp_lint {
	/* [{"file", "line", "column", "severity", "code", "object", "message",
	 *   "remedy"}], in the order in which they were found, each once; line and column
	 * are null where they are not known. NULL before the first. */
	json_t *findings;
	size_t counts[KP_SEVERITIES];
	size_t dropped; /* beyond KP_LINT_MOST */
	bool failed;	/* memory was exhausted */
};

/* Adds what the diagnostic says; `file` where it names none (NULL: nowhere). */
void kp_lint_add(struct kp_lint *lint, const char *file, const struct kp_diag *diag);
/* The same with a severity other than the code's. */
void kp_lint_add_as(struct kp_lint *lint, enum kp_severity severity, const char *file,
	const struct kp_diag *diag);
void kp_lint_finish(struct kp_lint *lint);

/* The text of a file: places are found in it; bytes NULL: they cannot be. */
struct kp_lint_text {
	const char *file;
	const char *bytes;
	size_t size;
};

/* Fills in the place of what diag->object names, and adds it. */
void kp_lint_add_placed(
	struct kp_lint *lint, const struct kp_lint_text *text, struct kp_diag *diag);

/*
 * Adds all that is wrong with a manifest, not the first fault alone: a fault is mended
 * in a copy and the rest read again. True: *manifest, the caller's to finish, is what
 * could be understood.
 */
bool kp_lint_manifest(struct kp_lint *lint, const struct kp_lint_text *text,
	struct kp_manifest *manifest);

/*
 * The same for a note (root is not changed): by itself, by the families, and names that
 * kplug never sees. Priorities in *note have the manifest's `offset` added. Kernels that
 * could not be understood are in it under names of ours with operation "", and count
 * for nothing.
 */
bool kp_lint_note(struct kp_lint *lint, const struct kp_lint_text *text,
	const json_t *root, const struct kp_families *families, int offset,
	struct kp_note *note);

/* The same for a family's file. */
bool kp_lint_family(
	struct kp_lint *lint, const struct kp_lint_text *text, struct kp_family *family);

#endif
