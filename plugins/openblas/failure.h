/* SPDX-License-Identifier: MIT */
/* How this plugin says what went wrong. */
#ifndef OPENBLAS_FAILURE_H
#define OPENBLAS_FAILURE_H

#include "kplug/plugin.h"

/* Fills the caller's error, where there is one. Returns `status`. */
int failure(struct kp_error *error, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
