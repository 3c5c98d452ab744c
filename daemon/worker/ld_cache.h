/* SPDX-License-Identifier: MIT */
/* The cache of ldconfig(8): sonames and the files they stand for. */
#ifndef KP_WORKER_LD_CACHE_H
#define KP_WORKER_LD_CACHE_H

#include <stdbool.h>

#define LD_CACHE_PATH "/etc/ld.so.cache"

/*
 * Offers each path that the cache at `file` has for a soname to `accept` until it
 * says yes. Format: glibc's sysdeps/generic/dl-cache.h, "glibc-ld.so.cache1.1",
 * also behind an old "ld.so-1.7.0" table. False for no, and for a cache that is
 * missing or damaged.
 */
bool ld_cache_find(const char *file, const char *soname,
	bool (*accept)(void *context, const char *path), void *context);

#endif
