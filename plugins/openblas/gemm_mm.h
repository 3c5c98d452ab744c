/* SPDX-License-Identifier: MIT */
/* The kernel gemm/mm of this plugin. */
#ifndef OPENBLAS_GEMM_MM_H
#define OPENBLAS_GEMM_MM_H

#include "kplug/plugin.h"

extern const struct kp_kernel gemm_mm;

#endif
