/* SPDX-License-Identifier: MIT */
/* Takes over, from an index, the verdicts of the restored table that hold still. */
#ifndef KP_DAEMON_CONFIRM_H
#define KP_DAEMON_CONFIRM_H

#include <stddef.h>

#include "lib/base/diag.h"

struct daemon;
struct index;

/*
 * Of these plugins, those whose items hold are not pending any more. `index` may be NULL.
 * -1: memory is exhausted.
 */
int confirm_plugins(struct daemon *daemon, const struct index *index, char **plugins,
	size_t count, struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
