/* SPDX-License-Identifier: MIT */
/* Whose word a client takes: who listens where nobody has named a place. */
#ifndef KP_LIB_PROTOCOL_TRUST_H
#define KP_LIB_PROTOCOL_TRUST_H

#include <sys/types.h>

#include "lib/base/diag.h"

struct kp_client;

/*
 * Does root listen, this user or, at the system's socket, the user kplug? *owner gets the
 * uid whose files are that daemon's. Codes untrusted_daemon, io_error, no_memory.
 */
int kp_client_trust(const struct kp_client *client, uid_t *owner, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
