/* SPDX-License-Identifier: MIT */
/* Who has most of what there is room for, and so gives way. Knows not of what. */
#ifndef KP_LIB_CROWD_H
#define KP_LIB_CROWD_H

#include <stddef.h>
#include <stdint.h>

/*
 * The value that occurs most often among n > 0, of several the highest: users who can
 * give themselves numbers (subuid) have high ones. Sorts the values.
 */
int64_t kp_crowd_of(int64_t *values, size_t n);

#endif
