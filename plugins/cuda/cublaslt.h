/* SPDX-License-Identifier: MIT */
/*
 * The functions of cuBLASLt that this plugin calls, declared here and found when it is
 * opened: a library of half a gigabyte is no part of listing a plugin. Descriptors are
 * in the caller's memory, so that nothing is allocated for a product.
 */
#ifndef CUDA_CUBLASLT_H
#define CUDA_CUBLASLT_H

#include <stdbool.h>
#include <stddef.h>

#include "config.h"

typedef int cublaslt_result;

/* Opaque; their sizes are part of the interface of CUDA 12 and 13. */
struct cublaslt_layout {
	uint64_t data[8];
};
struct cublaslt_algorithm {
	uint64_t data[8];
};
struct cublaslt_operation {
	uint64_t data[32];
};
struct cublaslt_preference {
	uint64_t data[8];
};

struct cublaslt_choice {
	struct cublaslt_algorithm algorithm;
	size_t workspace;
	cublaslt_result state;
	float waves;
	int reserved[4];
};

enum { CUBLASLT_OK = 0, CUBLASLT_NOT_SUPPORTED = 15 };
enum { CUBLASLT_F32 = 0, CUBLASLT_BF16 = 14, CUBLASLT_COMPUTE_F32 = 68 };
enum { CUBLASLT_TRANSPOSE_A = 3, CUBLASLT_TRANSPOSE_B = 4 };
enum { CUBLASLT_MOST_WORKSPACE = 1, CUBLASLT_ALIGNMENT_A = 5 }; /* B, C, D follow */

struct cublaslt {
	void *library;
	void *handle;
	cublaslt_result (*create)(void **handle);
	cublaslt_result (*destroy)(void *handle);
	const char *(*status_name)(cublaslt_result result);
	cublaslt_result (*layout_init)(struct cublaslt_layout *layout, size_t size,
		int type, uint64_t rows, uint64_t columns, int64_t line);
	cublaslt_result (*operation_init)(struct cublaslt_operation *operation,
		size_t size, int compute, int scale);
	cublaslt_result (*operation_set)(struct cublaslt_operation *operation,
		int attribute, const void *value, size_t size);
	cublaslt_result (*preference_init)(
		struct cublaslt_preference *preference, size_t size);
	cublaslt_result (*preference_set)(struct cublaslt_preference *preference,
		int attribute, const void *value, size_t size);
	cublaslt_result (*choose)(void *handle, struct cublaslt_operation *operation,
		struct cublaslt_layout *a, struct cublaslt_layout *b,
		struct cublaslt_layout *c, struct cublaslt_layout *d,
		struct cublaslt_preference *preference, int asked,
		struct cublaslt_choice *choices, int *found);
	cublaslt_result (*multiply)(void *handle, struct cublaslt_operation *operation,
		const void *alpha, const void *a, struct cublaslt_layout *layout_a,
		const void *b, struct cublaslt_layout *layout_b, const void *beta,
		const void *c, struct cublaslt_layout *layout_c, void *d,
		struct cublaslt_layout *layout_d,
		const struct cublaslt_algorithm *algorithm, void *workspace,
		size_t workspace_bytes, void *stream);
};

/*
 * Is there such a library? Looks where cublaslt_open does; opens it only where the
 * loader alone knows. KP_UNAVAILABLE says where it was looked for.
 */
int cublaslt_find(struct kp_error *error);

/*
 * Opens the first that there is of: $KPLUG_CUBLASLT, the configured path, what the
 * loader finds, $CUDA_HOME/lib64, a Python wheel's folder; and makes a handle for the
 * current context. One that was named and cannot be opened is an error.
 */
int cublaslt_open(
	struct cublaslt *library, const struct config *config, struct kp_error *error);
void cublaslt_close(struct cublaslt *library);

/* Says what failed; the status that it means. */
int cublaslt_failure(const struct cublaslt *library, cublaslt_result result,
	struct kp_error *error, const char *what);

#endif
