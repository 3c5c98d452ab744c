/* SPDX-License-Identifier: MIT */
/* Copies of slices, row by row of the copy. */
#include "lib/host/sample.h"

#include <string.h>

#include "lib/base/arena.h"
#include "lib/family/element.h"
#include "lib/family/family.h"
#include "lib/family/tensor.h"

enum { COPIED_MOST = 1 << 20 }; /* elements, where a copy is only of use */

/* ---- memory --------------------------------------------------------------------- */

void *kp_sample_memory(struct kp_sample *sample, size_t bytes, size_t align)
{
	size_t room;

	if (align == 0 || (align & (align - 1)) ||
		__builtin_add_overflow(bytes, align, &room))
		return NULL;
	char *memory = kp_arena_alloc(sample->memory, 1, room);
	return memory ? memory + (-(uintptr_t)memory & (align - 1)) : NULL;
}

/* Row-major, of the role's dims in the sample. */
static bool lay_out(struct kp_sample *sample, size_t role, const struct kp_tensor *from,
	struct kp_sample_tensor *to)
{
	const struct kp_check_role *of = &sample->check->roles[role];
	size_t bytes = from->dtype.bits / 8;
	int64_t step = 1;

	for (size_t d = of->rank; d-- > 0;) {
		to->shape[d] = of->dims[d] >= 0 ? sample->slices.extents[of->dims[d]]
						: from->shape[d];
		to->strides[d] = step;
		step *= to->shape[d] > 0 ? to->shape[d] : 1;
		bytes *= (size_t)to->shape[d];
	}
	to->tensor = *from;
	to->tensor.shape = to->shape;
	to->tensor.strides = to->strides;
	to->tensor.data = kp_sample_memory(sample, bytes, 64);
	return to->tensor.data != NULL;
}

bool kp_sample_like(struct kp_sample *sample, const struct kp_sample_tensor *from,
	struct kp_sample_tensor *to)
{
	size_t bytes =
		kp_tensor_count(&from->tensor) * (size_t)(from->tensor.dtype.bits / 8);

	*to = *from;
	to->tensor.shape = to->shape;
	to->tensor.strides = to->strides;
	to->tensor.data = kp_sample_memory(sample, bytes, 64);
	if (to->tensor.data && bytes > 0)
		memcpy(to->tensor.data, from->tensor.data, bytes);
	return to->tensor.data != NULL;
}

/* ---- copying -------------------------------------------------------------------- */

/* The call's index for one of the sample's. */
static int64_t index_of(const struct kp_sample *sample, size_t role, size_t d, int64_t i)
{
	int8_t dim = sample->check->roles[role].dims[d];

	return dim >= 0 && sample->slices.of[dim] ? sample->slices.of[dim][i] : i;
}

static void gather(const struct kp_sample *sample, size_t role,
	const struct kp_tensor *from, struct kp_sample_tensor *to)
{
	struct kp_walk walk = kp_walk_start(&to->tensor);

	while (kp_walk_next(&walk)) {
		int64_t offset = 0;
		for (int32_t d = 0; d < from->ndim; d++)
			offset += from->strides[d] *
				  index_of(sample, role, (size_t)d, walk.coordinates[d]);
		memcpy(walk.at, (const char *)from->data + offset * (int64_t)walk.bytes,
			walk.bytes);
	}
}

static bool has_slices(const struct kp_sample *sample, size_t role)
{
	const struct kp_check_role *of = &sample->check->roles[role];

	for (size_t d = 0; d < of->rank; d++)
		if (of->dims[d] >= 0 && sample->slices.of[of->dims[d]])
			return true;
	return false;
}

/* Might the call write there? What cannot be told is taken for it. */
static bool is_overwritten(const struct kp_sample *sample,
	const struct kp_tensor *const *tensors, size_t role)
{
	int64_t first, end, other_first, other_end;
	intptr_t data = (intptr_t)tensors[role]->data;

	if (kp_tensor_span(tensors[role], &first, &end, NULL) < 0)
		return true;
	for (size_t i = 0; i < sample->n_roles; i++) {
		if (!tensors[i] || !sample->check->roles[i].writes)
			continue;
		intptr_t other = (intptr_t)tensors[i]->data;
		if (i == role ||
			kp_tensor_span(tensors[i], &other_first, &other_end, NULL) < 0 ||
			(data + first < other + other_end &&
				other + other_first < data + end))
			return true;
	}
	return false;
}

/* A copy of all of it may be large where no dim could be divided. */
static int check_size(const struct kp_sample *sample, const struct kp_tensor *tensor,
	size_t role, struct kp_diag *diag)
{
	double count = 1;

	for (int32_t d = 0; d < tensor->ndim; d++) {
		int8_t dim = sample->check->roles[role].dims[d];
		count *= (double)(dim >= 0 ? sample->slices.extents[dim]
					   : tensor->shape[d]);
	}
	if (count * KP_SLICES_COPY <= KP_SLICES_WORK)
		return 0;
	return kp_diag_set(diag, "too_large", sample->check->family->roles[role].name,
		"%s has %.3g elements that must be copied, at most %.3g are",
		sample->check->family->roles[role].name, count,
		(double)KP_SLICES_WORK / KP_SLICES_COPY);
}

bool kp_sample_input(struct kp_sample *sample, size_t role, struct kp_sample_tensor *to)
{
	const struct kp_tensor *from = sample->list[role];

	to->tensor.data = NULL;
	if (sample->inputs[role].tensor.data)
		return kp_sample_like(sample, &sample->inputs[role], to);
	/* Whole, as the call has it: it is in the list itself. */
	if (!from || sample->check->roles[role].writes ||
		kp_tensor_count(from) > COPIED_MOST)
		return true;
	if (!lay_out(sample, role, from, to))
		return false;
	gather(sample, role, from, to);
	return true;
}

static int take_output(struct kp_sample *sample, const struct kp_tensor *tensor,
	size_t role, struct kp_diag *diag)
{
	struct kp_sample_tensor *other = &sample->others[role];

	if (!lay_out(sample, role, tensor, other) ||
		!kp_sample_like(sample, other, &sample->results[role]))
		return kp_diag_no_memory(diag);
	if (sample->inputs[role].tensor.data)
		gather(sample, role, tensor, other);
	sample->list[role] = &other->tensor;
	return 0;
}

static int take_role(struct kp_sample *sample, const struct kp_tensor *const *tensors,
	size_t role, struct kp_diag *diag)
{
	const struct kp_tensor *tensor = tensors[role];
	bool reads = sample->check->family->roles[role].direction != KP_OUT;
	struct kp_sample_tensor *input = &sample->inputs[role];
	enum kp_element element;

	if (!kp_element_of_dtype(tensor->dtype, &element))
		return kp_diag_set(diag, "unknown_dtype",
			sample->check->family->roles[role].name,
			"%s has a dtype that kplug cannot compare",
			sample->check->family->roles[role].name);
	sample->list[role] = tensor;
	if (reads &&
		(has_slices(sample, role) || is_overwritten(sample, tensors, role))) {
		if (check_size(sample, tensor, role, diag) < 0)
			return -1;
		if (!lay_out(sample, role, tensor, input))
			return kp_diag_no_memory(diag);
		gather(sample, role, tensor, input);
		sample->list[role] = &input->tensor;
	}
	if (!sample->check->roles[role].writes)
		return 0;
	return check_size(sample, tensor, role, diag) < 0
		       ? -1
		       : take_output(sample, tensor, role, diag);
}

int kp_sample_take(struct kp_sample *sample, const struct kp_check *check,
	const struct kp_tensor *const *given, size_t count, const int64_t *dims,
	uint64_t seed, struct kp_diag *diag)
{
	const struct kp_tensor *tensors[KP_FAMILY_ROLES] = {NULL};

	memset(sample, 0, sizeof(*sample));
	sample->check = check;
	sample->seed = seed;
	sample->n_roles = check->n_roles;
	sample->memory = kp_arena_new();
	if (!sample->memory)
		return kp_diag_no_memory(diag);
	for (size_t i = 0; i < count && i < check->n_roles; i++)
		tensors[i] = given[i];
	if (kp_slices_choose(&sample->slices, check, tensors, dims, seed, sample->memory,
		    diag) < 0)
		return -1;
	for (size_t i = 0; i < check->n_roles; i++)
		if (tensors[i] && take_role(sample, tensors, i, diag) < 0)
			return -1;
	return 0;
}

void kp_sample_finish(struct kp_sample *sample)
{
	kp_arena_free(sample->memory);
	sample->memory = NULL;
}

bool kp_sample_is_empty(const struct kp_sample *sample)
{
	for (size_t i = 0; i < sample->n_roles; i++)
		if (sample->results[i].tensor.data &&
			kp_tensor_count(&sample->results[i].tensor) > 0)
			return false;
	return true;
}

void kp_sample_results(
	struct kp_sample *sample, const struct kp_tensor *const *tensors, size_t count)
{
	for (size_t i = 0; i < sample->n_roles && i < count; i++)
		if (sample->results[i].tensor.data)
			gather(sample, i, tensors[i], &sample->results[i]);
}

void kp_sample_place(const struct kp_sample *sample, size_t role, size_t element,
	int64_t place[KP_FAMILY_RANK])
{
	const struct kp_sample_tensor *of = &sample->results[role];

	for (size_t d = (size_t)of->tensor.ndim; d-- > 0;) {
		size_t extent = (size_t)of->shape[d];
		place[d] = index_of(sample, role, d, (int64_t)(element % extent));
		element /= extent;
	}
}
