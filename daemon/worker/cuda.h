/* SPDX-License-Identifier: MIT */
/*
 * The functions of the CUDA driver that a worker calls, found in libcuda.so.1 when it is
 * opened: only workers that run kernels do that, each a process of its own.
 */
#ifndef KP_WORKER_CUDA_H
#define KP_WORKER_CUDA_H

#include <stddef.h>

#include "lib/base/diag.h"

typedef unsigned long long cuda_pointer;

struct cuda {
	int (*init)(unsigned flags);
	int (*error_name)(int result, const char **name);
	int (*error_string)(int result, const char **text);
	int (*count)(int *count);
	int (*get)(int *device, int ordinal);
	int (*address)(char *text, int size, int device);
	int (*uuid)(unsigned char uuid[16], int device);
	int (*attribute)(int *value, int attribute, int device);
	int (*retain)(void **context, int device);
	int (*release)(int device);
	int (*set_current)(void *context);
	int (*get_current)(void **context);
	int (*memory)(size_t *free, size_t *total);
	int (*allocate)(cuda_pointer *pointer, size_t bytes);
	int (*free)(cuda_pointer pointer);
	int (*put)(cuda_pointer to, const void *from, size_t bytes);
	int (*take)(void *to, cuda_pointer from, size_t bytes);
	int (*copy)(cuda_pointer to, cuda_pointer from, size_t bytes, void *stream);
	int (*fill)(cuda_pointer to, unsigned char value, size_t bytes);
	int (*stream_create)(void **stream, unsigned flags);
	int (*stream_wait)(void *stream);
	int (*capture_begin)(void *stream, int mode);
	int (*capture_end)(void *stream, void **graph);
	int (*graph_instantiate)(void **exec, void *graph, unsigned long long flags);
	int (*graph_launch)(void *exec, void *stream);
	int (*graph_exec_destroy)(void *exec);
	int (*graph_destroy)(void *graph);
	int (*event_create)(void **event, unsigned flags);
	int (*event_destroy)(void *event);
	int (*event_record)(void *event, void *stream);
	int (*event_wait)(void *event);
	int (*event_elapsed)(float *ms, void *from, void *to);
};

/* Of CUdevice_attribute. */
enum { CUDA_CLOCK_KHZ = 13, CUDA_L2_BYTES = 38 };

/* Opens the library and initializes it. Code unavailable. */
int cuda_open(struct cuda *cuda, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * 0 for success. Else "what: CUDA_ERROR_... (number): text" with the code error, or
 * out_of_bounds for an address that is nobody's.
 */
int cuda_check(const struct cuda *cuda, int result, const char *what,
	struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
