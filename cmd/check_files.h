/* SPDX-License-Identifier: MIT */
/*
 * The files that `pluginctl check` looks at: found below directories, read within
 * bounds, and told apart by what is in them. Opens no library.
 */
#ifndef CMD_CHECK_FILES_H
#define CMD_CHECK_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/diag.h"
#include "lib/lint/lint.h"

enum check_kind {
	CHECK_OTHER, /* nobody's business */
	CHECK_FAMILY,
	CHECK_NOTE,
	CHECK_MANIFEST,
	CHECK_LIBRARY,
	CHECK_KINDS
};

struct check_file {
	char *path;
	bool named;  /* on the command line */
	bool likely; /* named, directly below a directory that is, or in a plugins.d */
	enum check_kind kind;
	char *bytes; /* of a text; NULL: it is none, or could not be read */
	size_t size;
	json_t *root; /* NULL: it is no JSON */
};

/* Zero it. */
struct check_files {
	struct check_file *items;
	size_t count, room;
};

/*
 * Adds a file, or all *.json and *.so below a directory in byte order of their paths.
 * Names that begin with a dot are left out, and links to directories. Codes
 * missing_file, too_many, no_memory, not_readable.
 */
int check_files_add(struct check_files *files, const char *word, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * Reads texts and says what each is. What cannot be read or is no JSON is added to
 * `lint` where it is likely to be ours.
 */
void check_files_read(struct check_files *files, struct kp_lint *lint);

struct kp_lint_text check_file_text(const struct check_file *file);
void check_files_finish(struct check_files *files);

#endif
