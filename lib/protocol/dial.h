/* SPDX-License-Identifier: MIT */
/* Connecting to a socket of a path within a time. Knows no protocol. */
#ifndef KP_LIB_DIAL_H
#define KP_LIB_DIAL_H

#include "lib/base/diag.h"

/*
 * A connected descriptor, the caller's, close-on-exec; timeout_ms also bounds each later
 * send, negative: no bound. -1 with the codes path_too_long (length and limit), no_daemon
 * (the path and why), not_permitted, timed_out (nobody accepts), io_error.
 */
int kp_dial(const char *path, int timeout_ms, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
