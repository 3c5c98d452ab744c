/* SPDX-License-Identifier: MIT */
/* The kernels of this plugin. */
#ifndef X86_KERNELS_H
#define X86_KERNELS_H

#include "kplug/plugin.h"

extern const struct kp_kernel activation_silu_mul;
extern const struct kp_kernel activation_silu_mul_avx512;
extern const struct kp_kernel attention_decode;
extern const struct kp_kernel elementwise_square;
extern const struct kp_kernel gemm_mm;
extern const struct kp_kernel gemm_mm_avx512;
extern const struct kp_kernel norm_rms;
extern const struct kp_kernel norm_rms_avx512;
extern const struct kp_kernel norm_softmax;
extern const struct kp_kernel norm_softmax_avx512;

#endif
