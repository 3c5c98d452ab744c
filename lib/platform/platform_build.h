/* SPDX-License-Identifier: MIT */
/* How platforms are put together: between the files lib/platform/platform*.c. */
#ifndef KP_LIB_PLATFORM_BUILD_H
#define KP_LIB_PLATFORM_BUILD_H

#include <stdbool.h>

#include "lib/base/diag.h"
#include "lib/platform/platform.h"

struct kp_cpu;

/* Appends an empty device; valid until the next one. NULL: too_many, no_memory. */
struct kp_device_facts *kp_platform_add(
	struct kp_platform *platform, struct kp_diag *diag);

/* Keeps features sorted and single; false when it is too long or one too many. */
bool kp_device_add_feature(struct kp_device_facts *device, const char *feature);

/* Appends the device "cpu". */
int kp_platform_add_cpu(struct kp_platform *platform, const struct kp_cpu *cpu,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* Appends the GPUs below `root`/sys in order of their PCI addresses. */
int kp_platform_add_gpus(struct kp_platform *platform, const char *root,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * Adds to the GPUs of NVIDIA what the kernel driver says below `root`/proc/driver
 * without opening any of them: its version, their models and UUIDs.
 */
void kp_platform_ask_proc(struct kp_platform *platform, const char *root);

#endif
