/* SPDX-License-Identifier: MIT */
/* What the kernels of this plugin ask of the processor; knows no operation. */
#ifndef X86_PROCESSOR_H
#define X86_PROCESSOR_H

#include "kplug/plugin.h"

/* Only functions with these attributes hold AVX: loading the plugin runs none. */
#define AVX2   __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")))
#define AVX512_BF16                                                                      \
	__attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,"             \
			      "avx512bf16")))

/*
 * KP_OK where AVX2 and FMA are there and the system saves their registers; with
 * AVX-512 its parts F, BW, DQ and VL as well, and then the conversion to bf16.
 */
int processor_available(const struct kp_device *device, struct kp_error *error);
int processor_available_avx512(const struct kp_device *device, struct kp_error *error);
int processor_available_avx512_bf16(
	const struct kp_device *device, struct kp_error *error);

/* Fills the caller's error, where there is one. Returns `status`. */
int processor_fail(struct kp_error *error, int status, const char *text);

#endif
