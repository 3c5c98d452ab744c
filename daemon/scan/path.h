/* SPDX-License-Identifier: MIT */
/* Paths as texts: no file is looked at. */
#ifndef KP_DAEMON_PATH_H
#define KP_DAEMON_PATH_H

#include <stddef.h>

/*
 * An absolute path without ".", ".." and double slashes, malloc'ed; links are
 * not followed, so it names a place in a tree, perhaps not the same file.
 */
char *path_normal(const char *path);

/*
 * The length of the longest directory that holds `path` and is among the first
 * `length` bytes of `other`, where a directory ends. Both normal; 0 is the root.
 */
size_t path_common(const char *path, const char *other, size_t length);

#endif
