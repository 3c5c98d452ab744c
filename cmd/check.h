/* SPDX-License-Identifier: MIT */
/* What a running `pluginctl check` knows of all that it looks at. */
#ifndef CMD_CHECK_H
#define CMD_CHECK_H

#include "cmd/check_files.h"
#include "cmd/session.h"
#include "cmd/signed.h"
#include "lib/family/family.h"
#include "lib/lint/lint.h"
#include "lib/plugin/note.h"
#include "lib/plugin/verdict.h"

/* A plugin with its kernels; those of a library have the manifest's name. */
struct check_plugin {
	char *name;
	char *library;	      /* real path; NULL: a note's text alone */
	const char *manifest; /* its path, or NULL */
	char digest[65];
	json_t *libraries; /* what the worker found of those it needs; or NULL */
	int offset;	   /* of priorities, by the manifest */
	bool has_note;
	struct kp_note note;
	struct kp_lint_text text;
	char *file; /* that text.file is, where it is our own */
};

struct check {
	struct session *session;
	struct kp_lint lint;
	struct check_files files;
	struct kp_families families;
	struct signed_wish wish; /* of signatures */
	struct check_plugin *plugins;
	size_t n_plugins, room;
	size_t counts[CHECK_KINDS]; /* that were looked at */
};

/* A new row, zeroed; NULL when memory is exhausted. */
struct check_plugin *check_add_plugin(struct check *check);

/* Looks at a library that a manifest names, or that nobody names (manifest NULL). */
void check_library(struct check *check, const char *path, const struct check_file *file,
	const struct kp_manifest *manifest);

/* Lints a manifest, and its library where that is found. */
void check_manifest(struct check *check, const struct check_file *file);

/* What plugins say together: duplicates, ties, libraries that they bring. */
void check_together(struct check *check);

void check_finish(struct check *check);

/* Has a manifest named this library? */
bool check_is_claimed(const struct check *check, const char *path);

#endif
