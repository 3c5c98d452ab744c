/* SPDX-License-Identifier: MIT */
/* Guards as the interface shows them: with what compares, and whether that can run. */
#ifndef KP_DAEMON_GUARDING_H
#define KP_DAEMON_GUARDING_H

#include <jansson.h>

#include "lib/base/diag.h"

struct daemon;

/*
 * Can calls of the operation be compared? Codes unknown_operation (the nearest offered),
 * undescribed, no_reference.
 */
int guarding_check(struct daemon *daemon, const char *operation, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* "reference" and "problem" of an operation, a new object; NULL for want of memory. */
json_t *guarding_reference(struct daemon *daemon, const char *operation);

/* The Guarded of the interface of each guard, in byte order of operation. NULL: memory.
 */
json_t *guarding_list(struct daemon *daemon);

#endif
