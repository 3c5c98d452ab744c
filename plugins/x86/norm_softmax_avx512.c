/* SPDX-License-Identifier: MIT */
/* norm/rms with registers of 512 bits. */
#define VECTOR_512
#include "norm_softmax.c"
