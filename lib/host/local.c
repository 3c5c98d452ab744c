/* SPDX-License-Identifier: MIT */
/* Kernels of this process alone. */
#include "lib/host/local.h"

#include <string.h>

#include "lib/table_read.h"

void kp_locals_free(struct kp_locals *locals)
{
	(void)locals;
}

bool kp_local_is(const struct kp_table *table, size_t kernel)
{
	return strcmp(kp_table_kernel_plugin(table, kernel), "local") == 0;
}

int kp_local_load(struct kp_handle *handle, const char *name,
	const struct kp_device *device, const struct kp_loaded **loaded,
	struct kp_diag *diag)
{
	(void)handle, (void)device, (void)loaded;
	return kp_diag_set(diag, "no_such_kernel", name, "%s is gone", name);
}

int kp_local_extend(
	const struct kp_locals *locals, struct kp_sight *sight, struct kp_diag *diag)
{
	(void)locals, (void)sight, (void)diag;
	return 0;
}
