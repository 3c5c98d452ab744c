/* SPDX-License-Identifier: MIT */
/* Functions around calls, for profilers. */
#ifndef KP_LIB_HOST_PROFILE_H
#define KP_LIB_HOST_PROFILE_H

#include "kplug/host.h"
#include "lib/host/site.h"

/* What was set when the call began, NULL for nothing: leave gets the same one. */
const struct kp_profiler *kp_profile_enter(const struct kp_inner_site *site,
	const struct kp_inner_rung *rung, const struct kp_call *call);
void kp_profile_leave(const struct kp_profiler *profiler,
	const struct kp_inner_site *site, const struct kp_inner_rung *rung,
	const struct kp_call *call, int status);

void kp_profilers_free(struct kp_handle *handle);

#endif
