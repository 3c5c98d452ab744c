/* SPDX-License-Identifier: MIT */
/* What a service manager, or a shell, says by signals. */
#ifndef KP_DAEMON_SERVICE_SIGNALS_H
#define KP_DAEMON_SERVICE_SIGNALS_H

#include "lib/base/diag.h"

struct daemon;

/* From now on each is handled by the loop; SIGPIPE is ignored. Code no_memory. */
int signals_start(struct daemon *daemon, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* They are still caught, and no reason for the loop to go on. */
void signals_rest(struct daemon *daemon);

/* Also those that were never started. */
void signals_close(struct daemon *daemon);

#endif
