/* SPDX-License-Identifier: MIT */
/*
 * The index of a start: of each plugin that was active its manifest, and the stamps of
 * all files that its verdict rests on, the copies in the store included. Where they are
 * all the same, the verdict in the last table holds. Bytes and values only: looks at no
 * file.
 *
 * "KPLUGIX1", size, sum (both of 64 bits), then texts and numbers: a key, decisions,
 * the table's generation, the items in byte order of plugin. The byte order is that of
 * the machine: elsewhere the sum differs.
 */
#ifndef KP_DAEMON_INDEX_H
#define KP_DAEMON_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/scan/stamp.h"
#include "lib/base/diag.h"
#include "lib/plugin/manifest.h"

enum { INDEX_MOST = 64 << 20 }; /* bytes that are written and read */

struct index_item {
	struct kp_manifest manifest; /* texts of an index that was read are the index's */
	struct stamp stamp;	     /* of its file */
	const char *digest, *closure, *told; /* of struct kp_library */
	int64_t bytes;
	struct trace *trace; /* of the files */
	struct trace *kept;  /* of the entry, below the store */
	bool is_known;	     /* the manifest is as it was */
	bool holds;	     /* and all the rest, too */
};

struct index {
	void *bytes;
	const char *key;       /* under which circumstances the verdicts were made */
	const char *decisions; /* that are in the table: another text for others */
	uint64_t generation;   /* of the table */
	size_t count;
	struct index_item *items;
};

/*
 * Takes the bytes, which are malloc'ed. NULL: they are none of an index (bad_index), or
 * no_memory.
 */
struct index *index_read(void *bytes, size_t size, struct kp_diag *diag);
void index_free(struct index *index); /* NULL is fine */
struct index_item *index_find(const struct index *index, const char *plugin);

/* An index that is being written. Zero it first. */
struct index_text {
	char *bytes;
	size_t size, room, count;
	bool failed;
};
void index_begin(struct index_text *text, const char *key, const char *decisions,
	uint64_t generation);
/* In byte order of plugin. One that cannot be written as it is, is left out. */
void index_add(struct index_text *text, const struct index_item *item);
/* The bytes, malloc'ed and the caller's; NULL: no memory, or they are too many. */
void *index_end(struct index_text *text, size_t *size);

#endif
