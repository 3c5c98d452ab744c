/* SPDX-License-Identifier: MIT */
/* Kernels of this process alone, under the plugin name "local". */
#ifndef KP_LIB_HOST_LOCAL_H
#define KP_LIB_HOST_LOCAL_H

#include "kplug/host.h"
#include "lib/diag.h"
#include "lib/host/code.h"
#include "lib/host/sight.h"

struct kp_locals;

void kp_locals_free(struct kp_locals *locals);

/* Is the kernel one of them? */
bool kp_local_is(const struct kp_table *table, size_t kernel);
/* As kp_code_load, by "local/NAME". */
int kp_local_load(struct kp_handle *handle, const char *name,
	const struct kp_device *device, const struct kp_loaded **loaded,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* Adds them to a sight that has none yet; with the handle's lock held. */
int kp_local_extend(const struct kp_locals *locals, struct kp_sight *sight,
	struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
