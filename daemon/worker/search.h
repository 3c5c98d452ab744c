/* SPDX-License-Identifier: MIT */
/*
 * Where the loader would find a shared library, without loading it. Follows
 * ld.so(8): RPATH (without RUNPATH), LD_LIBRARY_PATH, RUNPATH, /etc/ld.so.cache,
 * default directories; a file of another class or machine is passed over.
 */
#ifndef KP_WORKER_SEARCH_H
#define KP_WORKER_SEARCH_H

#include <jansson.h>
#include <stdbool.h>

#include "daemon/worker/elf_image.h"

struct search_path {
	const char *origin;  /* directory of the library that asks: $ORIGIN */
	const json_t *rpath; /* arrays of texts as in elf_facts; may be NULL */
	const json_t *runpath;
	unsigned machine;
	unsigned char class;
};

/*
 * {"name", "path": text or null, "searched": [directories]} (to the place where it was
 * found); NULL when memory is exhausted.
 */
json_t *search_library(const struct search_path *path, const char *name);

/* Replaces $ORIGIN and ${ORIGIN}; false when it does not fit. */
bool search_expand(const char *text, const char *origin, char *out, size_t size);

/* {"name", ...}["path"] is not null. */
int search_found(const json_t *found);

/* "libx.so.1 is not found (searched: a, b, c)" into `text`; returns it. */
const char *search_sentence(const json_t *found, char *text, size_t size);

/* The directory of a path, into `text`; returns it. */
const char *search_directory(const char *path, char *text, size_t size);

#endif
