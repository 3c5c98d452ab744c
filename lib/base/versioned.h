/* SPDX-License-Identifier: MIT */
/* Texts that say the version of their format. Knows no content. */
#ifndef KP_LIB_VERSIONED_H
#define KP_LIB_VERSIONED_H

#include <jansson.h>

#include "lib/base/diag.h"

/*
 * Has the object a "format" that this kplug reads? `newest` is the newest one,
 * "NAME/NUMBER"; older numbers, from 1, are read, too. Codes: newer_format, and `wrong`
 * for what is no format of this name.
 */
int kp_versioned_check(const json_t *root, const char *newest, const char *wrong,
	struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
