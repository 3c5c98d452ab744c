/* SPDX-License-Identifier: MIT */
/* The machine that something was measured on. Opens no device. */
#ifndef KP_DAEMON_MACHINE_H
#define KP_DAEMON_MACHINE_H

#include <jansson.h>

#include "lib/platform/platform.h"

/*
 * The Machine of the interface. The fingerprint is of the CPU's model, vendor and
 * features, the number of cores and the memory in whole GiB: results of machines that
 * differ in it are not compared. The kernel is told, and no part of it. A new reference,
 * NULL when memory is exhausted.
 */
json_t *machine_json(const struct kp_platform *platform);

#endif
