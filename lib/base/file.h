/* SPDX-License-Identifier: MIT */
/* Files that others may have prepared for us: read within bounds, replaced whole. */
#ifndef KP_LIB_FILE_H
#define KP_LIB_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "lib/base/diag.h"

/*
 * Opens for reading without blocking and without becoming anyone's terminal;
 * must be a regular file. `dir` is a directory or AT_FDCWD. `st` may be NULL.
 * Returns a close-on-exec descriptor of the caller, or -1. Codes: missing_file,
 * not_regular_file (says what it is), link_loop, not_permitted, io_error. The
 * object is the path.
 */
int kp_file_open(int dir, const char *path, struct stat *st, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* The same of what open(2) has given: a descriptor, which it takes, or -1 with errno. */
int kp_file_opened(int fd, const char *path, struct stat *st, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * Reads a whole regular file of at most `limit` bytes. *text is malloc'ed and
 * terminated. Codes of kp_file_open and file_too_large.
 */
int kp_file_read(int dir, const char *path, size_t limit, char **text, size_t *size,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* The same of one that is open, from where it is; `path` is for messages. */
int kp_file_read_open(int fd, const char *path, size_t limit, char **text, size_t *size,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * Writes a temporary file in the directory and renames it to `name`, so that a
 * reader sees the old or the new content. A killed writer leaves at most that one
 * file, `.NAME.new`, which the next one uses. With `durable` file and directory are
 * fsynced before it returns. Code: write_failed.
 */
int kp_file_replace(int dir, const char *name, const void *bytes, size_t size,
	mode_t mode, bool durable, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * Opens the file for writing as the only process that has claimed it, which ends when
 * the descriptor is closed; another one is waited for. One that a killed process left is
 * used again; what others put there (a link, a pipe, a file of another user's or with a
 * second name), or keep locked for a second though they may only read it, is removed.
 * Nobody can read it (mode 0200). A descriptor, or -1 with errno.
 */
int kp_file_claim(int dir, const char *name) __attribute__((warn_unused_result));

/* Writes all of it, however often the system takes less. -1 with errno. */
int kp_file_write(int fd, const void *bytes, size_t size)
	__attribute__((warn_unused_result));

/* mkdir -p with `mode` for what it makes. Code: write_failed. */
int kp_file_make_dirs(const char *path, mode_t mode, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * The same open file, not as one of the three that programs take for their own streams,
 * whoever has closed those; takes fd, may be negative. -1 with errno: fd is closed.
 */
int kp_file_lift(int fd) __attribute__((warn_unused_result));

/* Closes *fd if it is not negative; for __attribute__((cleanup)). */
void kp_file_close(int *fd);

#endif
