/* SPDX-License-Identifier: MIT */
/* Writes the index some time after the table that it belongs to, and reads it. */
#ifndef KP_DAEMON_INDEX_SAVE_H
#define KP_DAEMON_INDEX_SAVE_H

#include <uv.h>

struct daemon;
struct index;
struct index_save;
struct kp_table;

/* NULL: memory is exhausted. */
struct index_save *index_save_new(struct daemon *daemon);
/* The table has been written, or will be. */
void index_save_later(struct index_save *save);
/* The end: writes what waits, while pipeline and state are still there. NULL is fine. */
void index_save_close(struct index_save *save);
/* Once the loop has ended. NULL is fine. */
void index_save_free(struct index_save *save);

/*
 * The index of an earlier run that was made for the restored table, for the same
 * families, platform, worker, directories and boot; NULL: there is none. One that is
 * damaged is set aside with a warning.
 */
struct index *index_load(struct daemon *daemon, const struct kp_table *table);

/*
 * Where all of the restored table was confirmed, under the same decisions: it is in force
 * as it is, and need not be written again.
 */
void index_adopt(struct daemon *daemon, const struct index *index);

#endif
