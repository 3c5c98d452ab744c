/* SPDX-License-Identifier: MIT */
/*
 * A file of the state directory that is written whole, in libuv's pool: one write at a
 * time, and the newest of those that wait. Of state.c only; knows no content.
 */
#ifndef KP_DAEMON_STATE_FILE_H
#define KP_DAEMON_STATE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <uv.h>

#include "daemon/scan/stamp.h"
#include "lib/base/diag.h"

typedef void state_done_fn(void *context, const struct kp_diag *diag);

struct state_done; /* who waits for a write */

/* Set the first members, zero the rest. */
struct state_file {
	uv_loop_t *loop;
	int dir;
	const char *name;
	mode_t mode;
	bool durable;
	const char *old; /* the name of the one before, which is kept, too; or NULL */
	bool is_good;	 /* with `old`: the file on the disk has no fault */
	bool keeps;	 /* what could not be written waits until it is asked for again */
	void (*written)(void *context, struct state_file *file); /* each one is over */
	void *context;

	uv_work_t work;
	bool busy, ended; /* it was tried once more */
	bool keeps_old;	  /* of the write under way */
	void *bytes;	  /* being written */
	size_t size;
	void *kept; /* of a durable one: what this run has last written; NULL: unknown */
	size_t kept_size;
	struct stamp kept_as;
	void *next_bytes; /* NULL: nothing waits */
	size_t next_size;
	struct state_done *waiting, *next_waiting;
	int result; /* of the last write */
	struct kp_diag diag;
};

/* These take the place of what waits, from the next state_file_next on. Takes them. */
void state_file_put(struct state_file *file, void *bytes, size_t size);
/* Begins to write what waits, unless a write is under way: then it follows. */
void state_file_next(struct state_file *file);
/*
 * Puts bytes, begins, and calls `done` once these, or later ones, are on the disk (diag
 * NULL) or could not be written; at once where this run has written just these. -1:
 * memory; the bytes are taken in any case.
 */
int state_file_keep(struct state_file *file, void *bytes, size_t size,
	state_done_fn *done, void *context, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* No write is under way. */
void state_file_finish(struct state_file *file);

#endif
