/* SPDX-License-Identifier: MIT */
/* Tensors of f32, bf16 and i32 with poisoned memory around and between them. */
#ifndef TESTS_SUPPORT_GUARDED_H
#define TESTS_SUPPORT_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kplug/plugin.h"

enum { GUARDED_RANK = 4, GUARDED_LAYOUTS = 5 };

/* How a tensor lies in memory. All start at an address that is aligned to an element
 * only. */
enum guarded_layout {
	GUARDED_ROWS,	 /* contiguous, the last dim next to itself */
	GUARDED_COLUMNS, /* contiguous, the first dim next to itself */
	GUARDED_PADDED,	 /* rows with three elements between them */
	GUARDED_SPREAD,	 /* every second element */
	GUARDED_REVERSED /* rows, the first dim from its end */
};

/* The tensor points into the struct: do not copy it. */
struct guarded {
	struct kp_tensor tensor;
	int64_t shape[GUARDED_RANK], strides[GUARDED_RANK];
	int64_t count; /* of elements of the tensor */
	int64_t total; /* of all in memory */
	size_t bytes;  /* of an element */
	void *memory;
};

/* KP_CODE_BFLOAT has 16 bits, the others 32. extents has `rank` of them; all elements are
 * poisoned. Ends the test without memory. */
void guarded_init(struct guarded *guarded, uint8_t code, enum guarded_layout layout,
	int rank, const int64_t *extents);
void guarded_finish(struct guarded *guarded);

/* The element of row-major number i. */
void *guarded_at(const struct guarded *guarded, int64_t i);
float guarded_get(const struct guarded *guarded, int64_t i);
/* Rounds to the nearest value that the tensor can hold. */
void guarded_set(const struct guarded *guarded, int64_t i, double value);
void guarded_set_int(const struct guarded *guarded, int64_t i, int32_t value);

/* Numbers in [-1, 1) that depend on the seed only, rounded like those of guarded_set. */
void guarded_fill(const struct guarded *guarded, uint64_t seed);

/* Is all that does not belong to the tensor still poisoned? */
bool guarded_intact(const struct guarded *guarded);
/* Is everything, the tensor too? */
bool guarded_untouched(const struct guarded *guarded);

/* |tensor - expected| over |expected|; infinite where one of them is not finite. */
double guarded_distance(const struct guarded *guarded, const double *expected);

#endif
