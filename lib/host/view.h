/* SPDX-License-Identifier: MIT */
/* A published table, from plugind's memory file or from the file on disk. */
#ifndef KP_LIB_HOST_VIEW_H
#define KP_LIB_HOST_VIEW_H

#include <sys/stat.h>
#include <sys/types.h>

#include "lib/host/attach.h"

/*
 * Maps a view that plugind sent: it must be sealed against every write, and whole. The
 * descriptor stays the caller's. *view has one reference. Codes bad_view, no_memory.
 */
int kp_view_map(int fd, struct kp_view **view, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* What tells one file from the one that took its place. */
struct kp_view_stamp {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed;
};

/*
 * Reads the table that plugind left at `path`, when it is another file than *stamp says
 * (which is renewed): *view is NULL where it is not. Nobody but root and owner may have
 * written it. Codes of kp_file_open and lib/base/trust.h, bad_view, no_memory.
 */
int kp_view_read(const char *path, uid_t owner, struct kp_view_stamp *stamp,
	struct kp_view **view, struct kp_diag *diag) __attribute__((warn_unused_result));

/* Before anybody else sees the view: what is off for this user alone; NULL: nothing. */
void kp_view_set_without(struct kp_view *view, const json_t *without);
/* Why the kernel of its table is, as plugind says it; NULL: it is not. */
const char *kp_view_without(
	const struct kp_view *view, const struct kp_table *table, size_t kernel);

struct kp_view *kp_view_use(struct kp_view *view);

#endif
