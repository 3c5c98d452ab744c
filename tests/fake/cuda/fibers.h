/* SPDX-License-Identifier: MIT */
/* What a kernel that is compiled for the CPU sees of the threads around it. */
#ifndef FAKE_CUDA_FIBERS_H
#define FAKE_CUDA_FIBERS_H

#include "tests/fake/cuda/fake.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a lane shows the others of its warp. */
struct fake_lane {
	uint32_t words[12];
	const void *pointer;
};

/* threadIdx, blockIdx, blockDim, gridDim of the thread that runs. */
extern struct fake_dim fake_thread, fake_block, fake_block_size, fake_grid_size;

unsigned fake_lane_number(void);
void fake_sync_block(void);
void fake_sync_warp(void);
/* What all 32 lanes show, once all of them have; valid until the next exchange. */
struct fake_lane *fake_exchange(const struct fake_lane *mine);
/* The block's shared memory, aligned to 16, at most what the launch asked for. */
void *fake_shared(size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
