/* SPDX-License-Identifier: MIT */
/*
 * Applications that died: was it a kernel, and which? The slots are read at once, how the
 * process ended a moment later, when its parent has waited for it. Loop thread only.
 */
#ifndef KP_DAEMON_DEATH_H
#define KP_DAEMON_DEATH_H

struct daemon;
struct deaths;

/* NULL for want of memory. From now on deaths of attached applications are judged. */
struct deaths *deaths_new(struct daemon *daemon);
/* Judges those that wait by what is known. NULL is fine in both. */
void deaths_close(struct deaths *deaths);
void deaths_free(struct deaths *deaths);

#endif
