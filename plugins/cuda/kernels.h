/* SPDX-License-Identifier: MIT */
/* The kernels of this plugin, and their code on the device. */
#ifndef CUDA_KERNELS_H
#define CUDA_KERNELS_H

#include "kplug/plugin.h"

extern const struct kp_kernel activation_silu_mul;
extern const struct kp_kernel attention_decode;
extern const struct kp_kernel elementwise_square;
extern const struct kp_kernel gemm_mm_cublaslt;
extern const struct kp_kernel gemm_mm_mma;
extern const struct kp_kernel gemm_mm_tiled;
extern const struct kp_kernel norm_rms;
extern const struct kp_kernel norm_softmax;

/* Fatbins, one a source file: in the section where tools look for them. */
extern const unsigned char activation_silu_mul_image[];
extern const unsigned char attention_decode_image[];
extern const unsigned char elementwise_square_image[];
extern const unsigned char gemm_mm_mma_image[];
extern const unsigned char gemm_mm_tiled_image[];
extern const unsigned char norm_rms_image[];
extern const unsigned char norm_softmax_image[];

#endif
