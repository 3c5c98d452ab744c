/* SPDX-License-Identifier: MIT */
/* The kernels of this plugin, one a family. */
#ifndef X86_KERNELS_H
#define X86_KERNELS_H

#include "kplug/plugin.h"

extern const struct kp_kernel gemm_mm;
extern const struct kp_kernel gemm_mm_avx512;
extern const struct kp_kernel norm_rms;

#endif
