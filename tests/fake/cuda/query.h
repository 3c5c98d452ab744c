/* SPDX-License-Identifier: MIT */
/* What a test in the same process may ask of the fake driver: found by dlsym. */
#ifndef FAKE_CUDA_QUERY_H
#define FAKE_CUDA_QUERY_H

#include <stddef.h>

/* Forgets everything, and reads the environment again. */
void fake_cuda_reset(void);
/* Calls of a function since then, with or without its _v2; of all with NULL. */
unsigned fake_cuda_calls(const char *function);
/* Bytes of device memory, modules, streams, events and graphs not yet given back. */
size_t fake_cuda_memory(void);
unsigned fake_cuda_modules(void);
unsigned fake_cuda_handles(void);

/*
 * Enqueues run(data) on a stream, for other fake libraries: `bytes` of data are copied.
 * A CUresult.
 */
int fake_cuda_enqueue(
	void *stream, void (*run)(void *data), const void *data, size_t bytes);

#endif
