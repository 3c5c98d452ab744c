/* SPDX-License-Identifier: MIT */
/*
 * Directory trees of ours below a directory: removing, publishing, and the text
 * that a tree's closure is the digest of. Follows no link. Blocks.
 */
#ifndef KP_DAEMON_TREE_H
#define KP_DAEMON_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/scan/stamp.h"
#include "daemon/store/digest.h"
#include "lib/base/diag.h"

/* Removes a file or a tree; 0 also when there is none. */
int tree_remove(int dir, const char *name);
/* How much it takes on the disk, as far as it can be looked at: a file, or a tree. */
int64_t tree_bytes(int dir, const char *name);
/* Makes every directory of the tree 0755, whatever the umask: its owner may remove it. */
int tree_publish(int dir, const char *name);

/* The lines "digest  name" of a closure. Zero it first. */
struct tree_lines {
	size_t count;
	char **items;
};
int tree_lines_add(struct tree_lines *lines, const char *digest, const char *name)
	__attribute__((warn_unused_result));
/* The SHA-256 of the sorted lines, each ended by a newline. */
int tree_lines_digest(struct tree_lines *lines, char digest[DIGEST_TEXT])
	__attribute__((warn_unused_result));
void tree_lines_finish(struct tree_lines *lines);

/* Hashes the files of a tree; what is no file or directory is an error. */
int tree_digest(int dir, const char *name, size_t files, char digest[DIGEST_TEXT])
	__attribute__((warn_unused_result));
/*
 * The same of what stat says of them (daemon/scan/stamp.h), without opening one. `trace`
 * (may be NULL) gets the stamps of all files and directories by their paths below `dir`.
 */
int tree_stamps(int dir, const char *name, size_t files, char digest[DIGEST_TEXT],
	struct trace *trace) __attribute__((warn_unused_result));

#endif
