/* SPDX-License-Identifier: MIT */
/*
 * All decisions for a device as text: whatever two machines decide differently differs
 * here, and nothing else. Knows no call.
 */
#ifndef KP_DAEMON_FINGERPRINT_H
#define KP_DAEMON_FINGERPRINT_H

#include <jansson.h>

#include "lib/base/diag.h"
#include "lib/family/family.h"
#include "lib/registry/decisions.h"
#include "lib/table/table.h"

/*
 * An array of lines in byte order: each family by the digest of its file; each eligible
 * kernel, by operation and signature, with the digest of its library, its rank and what
 * it asks of a request; pins; what is disabled. No times, users, reasons, paths or
 * generations. device NULL: all of the machine. Codes unknown_device, no_memory.
 */
int fingerprint_lines(const struct kp_table *table, const struct kp_families *families,
	const struct kp_decisions *decisions, const char *device, json_t **lines,
	struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
