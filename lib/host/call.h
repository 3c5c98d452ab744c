/* SPDX-License-Identifier: MIT */
/* One call of one kernel: what it gets, and what its status means. */
#ifndef KP_LIB_HOST_CALL_H
#define KP_LIB_HOST_CALL_H

#include "lib/host/site.h"

/* What a call of the site has, where it says nothing: size, host, device, attributes. */
void kp_call_ready(const struct kp_inner_site *site, struct kp_call *call);

/*
 * Brings the site up to date and finds the rung for a call, whose arguments are checked
 * unless the site says they are. NULL: *status, and the call's error.
 */
const struct kp_inner_rung *kp_call_find(
	struct kp_inner_site *site, const struct kp_call *call, int *status);

/* Runs it: one at a time where it must, the thread marked as being in it. */
int kp_call_enter(const struct kp_inner_rung *rung, struct kp_call *call);

/* Asks what the kernel needs for these tensors, their data left out. */
int kp_call_need(const struct kp_inner_site *site, const struct kp_inner_rung *rung,
	const struct kp_call *call, struct kp_need *need);

#endif
