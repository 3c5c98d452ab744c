/* SPDX-License-Identifier: MIT */
/* What holds of the options that nobody has given. */
#ifndef KP_DAEMON_DEFAULTS_H
#define KP_DAEMON_DEFAULTS_H

#include "lib/base/diag.h"

struct log;
struct options;

/* Fills what is NULL or 0 in them, and notes what it filled. Codes usage, no_memory. */
int defaults_fill(struct options *options, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* Warns of what whoever starts a private plugind may not expect of these places. */
void defaults_tell(const struct options *options, struct log *log);

#endif
