/* SPDX-License-Identifier: MIT */
/* Weights that are laid out for one kernel: nobody else can read them. */
#ifndef KP_LIB_HOST_WEIGHT_H
#define KP_LIB_HOST_WEIGHT_H

#include <stdbool.h>

struct kp_handle;

/* Is a tensor with this data one of them? Any thread. */
bool kp_weight_is_prepared(struct kp_handle *handle, const void *data);

#endif
