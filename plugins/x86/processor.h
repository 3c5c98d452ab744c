/* SPDX-License-Identifier: MIT */
/* What the kernels of this plugin ask of the processor; knows no operation. */
#ifndef X86_PROCESSOR_H
#define X86_PROCESSOR_H

#include "kplug/plugin.h"

/* Only functions with this attribute hold AVX2: loading the plugin runs none. */
#define AVX2 __attribute__((target("avx2,fma")))

/* KP_OK where AVX2 and FMA are there and the system saves their registers. */
int processor_available(const struct kp_device *device, struct kp_error *error);

/* Fills the caller's error, where there is one. Returns `status`. */
int processor_fail(struct kp_error *error, int status, const char *text);

#endif
