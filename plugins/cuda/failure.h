/* SPDX-License-Identifier: MIT */
/* How this plugin says what went wrong. */
#ifndef CUDA_FAILURE_H
#define CUDA_FAILURE_H

#include "kplug/plugin.h"

/* Fills the caller's error, where there is one. Returns `status`. */
int failure(struct kp_error *error, int status, int64_t native_code, const char *format,
	...) __attribute__((format(printf, 4, 5)));

#endif
