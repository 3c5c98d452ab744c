/* SPDX-License-Identifier: MIT */
/*
 * What stat says of a file, to see later whether it is still the same, and
 * traces: all the files that a verdict rests on. Reads no file.
 */
#ifndef KP_DAEMON_STAMP_H
#define KP_DAEMON_STAMP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * A file is young while its last write is less than this ago: somebody may
 * still be writing it. A stamp that is older than this when the bytes are read
 * is proof: a later write gives another time.
 */
enum { STAMP_SETTLE_MS = 1000 };

struct stamp {
	bool exists;
	uint64_t dev, ino;
	int64_t size;
	int64_t mtime, ctime; /* nanoseconds since 1970 */
};

void stamp_from_stat(const struct stat *st, struct stamp *stamp);
/* Follows links. A file that cannot be looked at does not exist. */
void stamp_take(const char *path, struct stamp *stamp);
bool stamp_equal(const struct stamp *a, const struct stamp *b);
/* Milliseconds until the file is not young any more, 0 when it is not. */
unsigned stamp_settles_in(const struct stamp *stamp, int64_t now_ns);
/* Nanoseconds since that time, the most or the least there are where it is too far. */
int64_t stamp_age(int64_t now_ns, int64_t time_ns);
int64_t stamp_now(void); /* nanoseconds since 1970 */

enum { TRACE_MOST = 4096 }; /* files of a trace that is kept */

/* Counted references, by one thread at a time; unchanged once it is shared. */
struct trace {
	unsigned references;
	bool proof;	 /* every stamp was old enough when it was taken */
	bool distrusted; /* a file of it is not to be trusted; not kept on disk */
	size_t count;
	struct traced {
		char *path;
		struct stamp stamp;
	} * items;
};

struct trace *trace_new(void);
struct trace *trace_ref(struct trace *trace);
void trace_unref(struct trace *trace); /* NULL is fine */
/* Copies both; a path that is there already is left as it was. -1: no memory. */
int trace_add(struct trace *trace, const char *path, const struct stamp *stamp)
	__attribute__((warn_unused_result));
/* Is every file as it was? Blocks. */
bool trace_holds(const struct trace *trace);
/*
 * The first regular file that is the same one with another content by its time or size:
 * somebody wrote to it. NULL: none. Blocks.
 */
const char *trace_modified(const struct trace *trace);
/* Is every file there that was, and no other? Blocks. */
bool trace_names_hold(const struct trace *trace);

/* An array of [path] or [path, dev, ino, size, mtime, ctime]; a new reference. */
json_t *trace_json(const struct trace *trace);
/* NULL when it is not such an array, or memory is exhausted. */
struct trace *trace_from_json(const json_t *value, bool proof);

#endif
