/* SPDX-License-Identifier: MIT */
/*
 * Files that are wrong, kept beside for whoever wants to look: NAME.damaged, then
 * NAME.damaged.1 and so on. The first ones stay; once there are a few, the last is
 * replaced.
 */
#ifndef KP_DAEMON_ASIDE_H
#define KP_DAEMON_ASIDE_H

#include <stdbool.h>

enum { ASIDE_FILES = 5, ASIDE_BYTES = 64 };

/* Moves the file away; false when it cannot be. `aside` (ASIDE_BYTES): its new name. */
bool aside_move(int dir, const char *name, char *aside);
/* A second name for the file, which stays; one that it has already is taken. */
bool aside_link(int dir, const char *name, char *aside);
/* The last one that was set aside; false when there is none. */
bool aside_find(int dir, const char *name, char *aside);

#endif
