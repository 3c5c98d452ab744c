/* SPDX-License-Identifier: MIT */
/*
 * Libraries that were loaded by a call: copies in a directory of the state's, each with
 * a manifest, so that they go the way of every other. A layer of its own below the
 * others; emptied at every start. Blocks on files.
 */
#ifndef KP_DAEMON_LOADED_H
#define KP_DAEMON_LOADED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/diag.h"

struct kp_trust;

enum { LOADED_MOST = 64 };

/* The directory, made and emptied; malloc'ed, absolute. NULL with *diag. */
char *loaded_open(const char *state_dir, struct kp_diag *diag);

/*
 * Can this descriptor be copied: a regular file that has a name, open for reading, not
 * too large? for_all: readable by all. trust: nobody else may change it (NULL: anybody).
 * Codes not_readable, not_regular_file, unlinked_file, file_too_large, io_error,
 * not_world_readable, those of lib/base/trust.h.
 */
int loaded_check(int fd, bool for_all, const struct kp_trust *trust, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* The base name of its file without ".so"; "" where that is no name of a plugin. */
void loaded_name(int fd, char *name, size_t size);

/* Copies the file, then writes the manifest. Codes name_taken, too_many, write_failed. */
int loaded_add(const char *dir, const char *name, int fd, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* Removes both; false: there is none of this name. */
bool loaded_remove(const char *dir, const char *name);

#endif
