/* SPDX-License-Identifier: MIT */
/* Kernels of this process alone, under the plugin name "local". */
#ifndef KP_LIB_HOST_LOCAL_H
#define KP_LIB_HOST_LOCAL_H

#include "kplug/host.h"
#include "lib/base/diag.h"
#include "lib/host/code.h"
#include "lib/host/sight.h"
#include "lib/plugin/note.h"

/* One kernel; removed ones are kept to the end, since calls may be in them. */
struct kp_locals {
	struct kp_locals *next;
	struct kp_note note; /* of it alone */
	struct kp_code_kernel *code;
	bool removed;
};

void kp_locals_free(struct kp_locals *locals);

/* Is the kernel one of them? */
bool kp_local_is(const struct kp_table *table, size_t kernel);
/* As kp_code_load, by "local/NAME". */
int kp_local_load(struct kp_handle *handle, const char *name,
	const struct kp_device *device, const struct kp_loaded **loaded,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * Gives the sight a table of its own, which has them, too; with the handle's lock held.
 * Codes local_taken (plugind has a plugin of that name), those of kp_contract_get.
 */
int kp_local_extend(struct kp_handle *handle, struct kp_sight *sight,
	struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
