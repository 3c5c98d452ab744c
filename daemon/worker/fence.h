/* SPDX-License-Identifier: MIT */
/*
 * Memory for a kernel to work on, with fences: a byte behind it faults, one
 * before it faults or spoils a pattern, and what is closed for writing faults.
 * Who faulted is reported before the process dies. Knows no tensor.
 */
#ifndef KP_WORKER_FENCE_H
#define KP_WORKER_FENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/diag.h"

enum { FENCES = 64 };

struct fence {
	char name[48]; /* of what lies inside, for people */
	void *data;
	size_t bytes;
	bool writable;
	unsigned char *map; /* guard pages, pattern, data, guard pages */
	size_t mapped;
};

/* All of one process. Zero it first; it must not move once it is watched. */
struct fences {
	size_t count;
	struct fence items[FENCES];
};

/*
 * Adds memory that ends at a guard page, as far as `align` (a power of two)
 * allows; zeroed, writable. NULL with *diag: no_memory, too_large.
 */
struct fence *fence_add(struct fences *fences, const char *name, size_t bytes,
	size_t align, struct kp_diag *diag);

/* From now on a write faults; until it is opened again. */
void fence_close(struct fence *fence);
void fence_open(struct fence *fence);

/* Takes all memory back; more can be added then. */
void fences_clear(struct fences *fences);

/*
 * Is every pattern whole? Otherwise *diag says what was written before or behind
 * what (code out_of_bounds).
 */
int fences_check(const struct fences *fences, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * A fault at a fence writes `mark` (lib/plugin/report.h; it must stay) and the line
 * {"fault": {"name", "side", "distance"}} to `fd` before the process dies of it; side is
 * before, behind or inside (a write to what is closed). Any other fault dies as it is.
 * Once a process.
 */
void fences_watch(const struct fences *fences, int fd, const char *mark);

#endif
