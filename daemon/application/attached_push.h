/* SPDX-License-Identifier: MIT */
/* Views on their way to applications, for the files daemon/application/attached*.c. */
#ifndef KP_DAEMON_ATTACHED_PUSH_H
#define KP_DAEMON_ATTACHED_PUSH_H

#include <uv.h>

#include "daemon/application/attached_client.h"

/* Brings the view in line with the table that holds now. Codes io_error, no_memory. */
int attached_refresh(struct attached *attached, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* The first reply, with all its descriptors. */
void attached_greet(struct application *application);
/* For the timer: those whose time is over leave. */
void attached_sweep(uv_timer_t *timer);

#endif
