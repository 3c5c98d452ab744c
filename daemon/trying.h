/* SPDX-License-Identifier: MIT */
/* How a daemon comes to try plugins: what stands between its files and its registry. */
#ifndef KP_DAEMON_TRYING_H
#define KP_DAEMON_TRYING_H

#include "lib/base/diag.h"

struct daemon;

/* Makes pool, scan, devices, index and pipeline; nothing runs yet. */
int trying_start(struct daemon *daemon, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
