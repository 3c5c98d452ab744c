/* SPDX-License-Identifier: MIT */
/*
 * The children of this process, among them orphans that it adopted as a
 * subreaper. Knows nothing of jobs.
 */
#ifndef KP_WORKER_KIN_H
#define KP_WORKER_KIN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Reaps all dead children and kills the others but those for which `spare` says
 * yes (NULL: none), until only spared ones are left; orphans that come up
 * meanwhile included. Returns whether any was alive. Blocks until they are dead.
 */
bool kin_end(bool (*spare)(void *context, pid_t pid), void *context);

#endif
