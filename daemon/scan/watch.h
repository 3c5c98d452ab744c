/* SPDX-License-Identifier: MIT */
/*
 * Notices changes in directories through one inotify descriptor. Knows no
 * manifest and no library; whoever asked looks for itself.
 */
#ifndef KP_DAEMON_WATCH_H
#define KP_DAEMON_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "lib/base/diag.h"

struct watch;

/* What counts in a directory. */
enum watch_kind {
	WATCH_MANIFESTS = 1 << 0, /* NAME.json, and links swapped as a whole ("..data") */
	WATCH_LIBRARIES = 1 << 1, /* all but editors' files */
	WATCH_ANCESTOR = 1 << 2,  /* directories that come: one below is awaited */
};

struct watch_dir {
	char *path;
	unsigned kinds;
};

/*
 * `changed` is called once things have been quiet for 200 ms, at the latest 2 s after
 * the first change, and after lost events. Where the kernel gives no inotify
 * descriptor: NULL and *diag says so (code no_watch); polling has to do.
 */
struct watch *watch_new(uv_loop_t *loop, void (*changed)(void *context), void *context,
	struct kp_diag *diag);

/*
 * Watches these directories from now on and no others. Returns whether one of
 * them was not watched before: what happened there meanwhile is not known.
 * *failed is how many cannot be watched.
 */
bool watch_set(
	struct watch *watch, const struct watch_dir *dirs, size_t count, size_t *failed);

/* Freed by the loop. NULL is fine. */
void watch_close(struct watch *watch);

/* Does a change of this name count there? For tests. */
bool watch_counts(unsigned kinds, const char *name, bool is_dir);

#endif
