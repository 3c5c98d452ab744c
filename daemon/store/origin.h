/* SPDX-License-Identifier: MIT */
/*
 * Which libraries a library reaches beside itself, through $ORIGIN, by the rules
 * of ld.so(8): RUNPATH of the library itself, else RPATH of it and of who
 * needs it. Looks whether files are there, and reads none.
 */
#ifndef KP_DAEMON_ORIGIN_H
#define KP_DAEMON_ORIGIN_H

#include <jansson.h>
#include <stdbool.h>

/* The search paths that hold for a library: arrays of texts; NULL: none. */
struct origin {
	const char *path; /* absolute, of the library */
	const json_t *runpath, *rpath;
	const json_t *inherited; /* RPATH of the plugin's library */
	const char *inherited_path;
};

/*
 * Calls visit for each place below $ORIGIN where a library of this name is looked
 * for before it is found: with the path and whether it is there (then it is
 * the last). A name with a slash is no search, and reaches nothing. 0, or
 * what visit returned when it was not 0; -1 when memory is exhausted. Blocks.
 */
int origin_search(const struct origin *origin, const char *name,
	int (*visit)(void *context, const char *path, bool exists), void *context)
	__attribute__((warn_unused_result));

#endif
