/* SPDX-License-Identifier: MIT */
/*
 * Part of a call that can be computed again by itself: some slices of the family's
 * independent dims, copied before the call overwrites anything. Knows no kernel.
 */
#ifndef KP_LIB_HOST_SAMPLE_H
#define KP_LIB_HOST_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kplug/plugin.h"
#include "lib/base/diag.h"
#include "lib/host/check.h"
#include "lib/host/slices.h"

struct kp_arena;

/* A tensor with its own shape and strides. */
struct kp_sample_tensor {
	struct kp_tensor tensor;
	int64_t shape[KP_FAMILY_RANK], strides[KP_FAMILY_RANK];
};

struct kp_sample {
	const struct kp_check *check;
	struct kp_arena *memory;
	uint64_t seed;
	size_t n_roles;
	struct kp_slices slices;
	/* Copies of inputs as they were; data NULL: not copied, since nothing of it is
	 * left out or overwritten. */
	struct kp_sample_tensor inputs[KP_FAMILY_ROLES];
	/* What the call wrote into its outputs, and room for what another one writes. */
	struct kp_sample_tensor results[KP_FAMILY_ROLES], others[KP_FAMILY_ROLES];
	const struct kp_tensor *list[KP_FAMILY_ROLES]; /* for the other call */
};

/*
 * Chooses slices, as many as fit a bound on work and copies, by the seed, and copies
 * inputs. The tensors are right ones for the family; dims are the call's. The sample is
 * to be finished also after a failure. Codes: unknown_dtype, too_large (a single slice
 * is), no_memory.
 */
int kp_sample_take(struct kp_sample *sample, const struct kp_check *check,
	const struct kp_tensor *const *tensors, size_t count, const int64_t *dims,
	uint64_t seed, struct kp_diag *diag) __attribute__((warn_unused_result));
void kp_sample_finish(struct kp_sample *sample);

/* Has it no element that could be compared? */
bool kp_sample_is_empty(const struct kp_sample *sample);

/* After the call: copies the slices of what it wrote. */
void kp_sample_results(
	struct kp_sample *sample, const struct kp_tensor *const *tensors, size_t count);

/* Memory of the sample's; NULL when exhausted. */
void *kp_sample_memory(struct kp_sample *sample, size_t bytes, size_t align);
/* A tensor of the same shape in memory of the sample's; false: memory. */
bool kp_sample_like(struct kp_sample *sample, const struct kp_sample_tensor *from,
	struct kp_sample_tensor *to);

/*
 * A copy of an input of the other call; *to has no data where it is none, or one too
 * large to copy. False: memory.
 */
bool kp_sample_input(struct kp_sample *sample, size_t role, struct kp_sample_tensor *to);

/* Where in the call's tensor of this role the sample's element is. */
void kp_sample_place(const struct kp_sample *sample, size_t role, size_t element,
	int64_t place[KP_FAMILY_RANK]);

#endif
