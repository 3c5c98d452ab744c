/* SPDX-License-Identifier: MIT */
/* What keeps kernels in use beyond a call, told to plugind as it comes and goes. */
#ifndef KP_LIB_HOST_HOLD_H
#define KP_LIB_HOST_HOLD_H

#include "kplug/host.h"
#include "lib/host/handle.h"

struct kp_holds;

/* By "plugin/kernel" and "graph", "plan", "weight"; the id, 0 for want of memory. */
uint64_t kp_hold_add(struct kp_handle *handle, const char *kernel, const char *what);
/* False: there is none of this id. */
bool kp_hold_drop(struct kp_handle *handle, uint64_t id);
void kp_holds_free(struct kp_handle *handle);

#endif
