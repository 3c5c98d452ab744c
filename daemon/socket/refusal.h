/* SPDX-License-Identifier: MIT */
/* What is answered to a message that is no call. */
#ifndef KP_DAEMON_REFUSAL_H
#define KP_DAEMON_REFUSAL_H

#include <stddef.h>

#include "daemon/socket/role.h"
#include "lib/base/diag.h"

/* A whole message, malloc'ed: InvalidArgument. NULL when memory is exhausted. */
char *refusal_print(const struct kp_diag *diag, size_t *size);
/* To who sends a descriptor and may not: NotPermitted. */
char *refusal_of_files(const struct role_held *held, size_t *size);

#endif
