/* SPDX-License-Identifier: MIT */
/* Embeds what nvcc made of the .cu files. */
#include "kernels.h"

/* The section's name and its alignment are those that nvcc gives it. */
#define IMAGE(name)                                                                      \
	__asm__(".pushsection .nv_fatbin,\"a\"\n"                                        \
		".balign 8\n"                                                            \
		".globl " #name "_image\n"                                               \
		".hidden " #name "_image\n" #name "_image:\n"                            \
		".incbin \"" #name ".fatbin\"\n"                                         \
		".balign 8\n"                                                            \
		".popsection\n")

IMAGE(activation_silu_mul);
IMAGE(attention_decode);
IMAGE(elementwise_square);
IMAGE(gemm_mm_mma);
IMAGE(gemm_mm_tiled);
IMAGE(norm_rms);
IMAGE(norm_softmax);
