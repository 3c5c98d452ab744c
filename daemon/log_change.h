/* SPDX-License-Identifier: MIT */
/* What the log says of a plugin that is no longer what it was. */
#ifndef KP_DAEMON_LOG_CHANGE_H
#define KP_DAEMON_LOG_CHANGE_H

#include "daemon/log.h"
#include "lib/registry/registry.h"

void log_change(struct log *log, const struct kp_change *change);

#endif
