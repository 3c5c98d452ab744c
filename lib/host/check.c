/* SPDX-License-Identifier: MIT */
/* Passing is quick; failing is explained by lib/family/argument.c. */
#include "lib/host/check.h"

#include <string.h>

#include "lib/family/argument.h"
#include "lib/family/element.h"

struct span {
	uintptr_t first, end;
};

/* ---- compiling --------------------------------------------------------------------- */

static int dim_index(const struct kp_family *family, const char *name)
{
	for (size_t i = 0; name && i < family->dims.count; i++)
		if (strcmp(family->dims.items[i], name) == 0)
			return (int)i;
	return -1;
}

/* Not apart need be two inputs, or two parts that lie between each other. */
static uint32_t apart_from(const struct kp_family *family, size_t role)
{
	const struct kp_role *a = &family->roles[role];
	uint32_t bits = 0;

	for (size_t i = role + 1; i < family->n_roles; i++) {
		const struct kp_role *b = &family->roles[i];
		if (!(a->direction == KP_IN && b->direction == KP_IN) &&
			!(a->interleave && b->interleave))
			bits |= (uint32_t)1 << i;
	}
	return bits;
}

static void compile_role(struct kp_check *check, size_t i)
{
	const struct kp_role *role = &check->family->roles[i];
	struct kp_check_role *to = &check->roles[i];
	const struct kp_operand *operand =
		kp_signature_find(check->signature, role->name);

	to->rank = (uint8_t)role->rank;
	to->optional = role->optional;
	to->writes = role->direction != KP_IN;
	to->on_cpu = role->space != KP_SPACE_DEVICE;
	to->on_device = role->space != KP_SPACE_HOST;
	to->absent = role->key && !operand;
	to->unknown = !operand;
	if (operand) {
		to->dtype = kp_element_dtype(operand->format.element);
		to->bytes = (uint8_t)kp_element_bytes(operand->format.element);
	} else if (role->formats.count == 1) {
		struct kp_format format;
		if (kp_format_parse(role->formats.items[0], &format, NULL) == 0) {
			to->dtype = kp_element_dtype(format.element);
			to->bytes = (uint8_t)kp_element_bytes(format.element);
			to->unknown = to->absent;
		}
	}
	to->apart = apart_from(check->family, i);
	for (size_t d = 0; d < role->rank && d < KP_FAMILY_RANK; d++) {
		to->dims[d] = (int8_t)dim_index(check->family, role->dims[d].name);
		to->numbers[d] = (int64_t)role->dims[d].number;
	}
	check->unsupported |= role->repeat != NULL;
}

static void compile_presets(struct kp_check *check)
{
	const struct kp_family *family = check->family;

	for (size_t i = 0; i < family->dims.count; i++) {
		const json_t *preset =
			json_object_get(family->defaults, family->dims.items[i]);
		check->preset_dim[i] = -1;
		check->preset[i] = -1;
		if (json_is_string(preset))
			check->preset_dim[i] =
				(int8_t)dim_index(family, json_string_value(preset));
		else if (json_is_integer(preset))
			check->preset[i] = json_integer_value(preset);
		check->has_presets |= check->preset_dim[i] >= 0 || check->preset[i] >= 0;
	}
}

void kp_check_init(struct kp_check *check, const struct kp_family *family,
	const struct kp_signature *signature, const struct kp_device *device)
{
	*check = (struct kp_check){
		.family = family,
		.signature = signature,
		.place = {device->type, device->id},
		.n_roles = family->n_roles,
		.n_dims = family->dims.count,
	};
	for (size_t i = 0; i < family->n_roles; i++)
		compile_role(check, i);
	compile_presets(check);
}

/* ---- dims -------------------------------------------------------------------------- */

static void fill_presets(const struct kp_check *check, int64_t *dims)
{
	for (size_t i = 0; check->has_presets && i < check->n_dims; i++) {
		if (dims[i] >= 0)
			continue;
		dims[i] = check->preset_dim[i] >= 0 ? dims[check->preset_dim[i]]
						    : check->preset[i];
	}
}

static void clear(const struct kp_check *check, int64_t *dims)
{
	for (size_t i = 0; i < check->n_dims; i++)
		dims[i] = -1;
}

void kp_check_dims(const struct kp_check *check, const struct kp_tensor *const *tensors,
	size_t count, int64_t dims[KP_FAMILY_DIMS])
{
	clear(check, dims);
	for (size_t i = 0; i < count && i < check->n_roles; i++) {
		const struct kp_check_role *role = &check->roles[i];
		const struct kp_tensor *tensor = tensors[i];
		for (size_t d = 0; tensor && d < role->rank && d < (size_t)tensor->ndim;
			d++)
			if (role->dims[d] >= 0 && dims[role->dims[d]] < 0)
				dims[role->dims[d]] = tensor->shape[d];
	}
	fill_presets(check, dims);
}

/* ---- checking ---------------------------------------------------------------------- */

static bool is_dtype(struct kp_dtype a, struct kp_dtype b)
{
	return memcmp(&a, &b, sizeof(a)) == 0;
}

/* The bytes from the elements low to high; as signed numbers, as lib/argument.c has them.
 */
static bool set_span(const struct kp_tensor *tensor, int64_t bytes, int64_t low,
	int64_t high, struct span *span)
{
	intptr_t base = (intptr_t)tensor->data, first, end;

	if (!base || __builtin_mul_overflow(low, bytes, &low) ||
		__builtin_mul_overflow(high + 1, bytes, &high) ||
		__builtin_add_overflow(base, low, &first) ||
		__builtin_add_overflow(base, high, &end))
		return false;
	*span = (struct span){(uintptr_t)first, (uintptr_t)end};
	return true;
}

static bool is_extent(
	const struct kp_check_role *role, size_t d, int64_t extent, int64_t *dims)
{
	const int8_t dim = role->dims[d];

	if (dim < 0)
		return extent == role->numbers[d];
	if (dims[dim] < 0)
		dims[dim] = extent;
	return dims[dim] == extent;
}

/* Extents, strides and where they lead, which must be no further than can be counted. */
static bool passes_layout(const struct kp_check_role *role,
	const struct kp_tensor *tensor, int64_t *dims, struct span *span)
{
	int64_t low = 0, high = 0, reach;
	bool empty = false;

	for (size_t d = 0; d < role->rank; d++) {
		int64_t extent = tensor->shape[d], stride = tensor->strides[d];
		if (extent < 0 || !is_extent(role, d, extent, dims))
			return false;
		empty |= extent == 0;
		if (extent <= 1)
			continue;
		if ((stride == 0 && role->writes) ||
			__builtin_mul_overflow(extent - 1, stride, &reach) ||
			(reach < 0 ? __builtin_add_overflow(low, reach, &low)
				   : __builtin_add_overflow(high, reach, &high)))
			return false;
	}
	return empty ||
	       (high < INT64_MAX && set_span(tensor, role->bytes, low, high, span));
}

static bool has_place(const struct kp_check *check, const struct kp_check_role *role,
	struct kp_place place)
{
	if (place.type == KP_DEVICE_CPU && role->on_cpu)
		return true;
	return role->on_device && place.type == check->place.type &&
	       (place.type == KP_DEVICE_CPU || place.id == check->place.id);
}

static bool passes_role(const struct kp_check *check, const struct kp_check_role *role,
	const struct kp_tensor *tensor, int64_t *dims, struct span *span)
{
	/* One without memory is apart from all. */
	*span = (struct span){UINTPTR_MAX, 0};
	if (!tensor)
		return role->optional;
	return !role->unknown && tensor->ndim == role->rank && tensor->byte_offset == 0 &&
	       is_dtype(tensor->dtype, role->dtype) &&
	       (role->rank == 0 || (tensor->shape && tensor->strides)) &&
	       has_place(check, role, tensor->device) &&
	       passes_layout(role, tensor, dims, span);
}

static bool are_apart(const struct kp_check *check, const struct span *spans)
{
	for (size_t i = 0; i < check->n_roles; i++)
		for (uint32_t rest = check->roles[i].apart; rest; rest &= rest - 1) {
			const struct span *other = &spans[__builtin_ctz(rest)];
			if (spans[i].first < other->end && other->first < spans[i].end)
				return false;
		}
	return true;
}

static bool passes(const struct kp_check *check, const struct kp_tensor *const *tensors,
	size_t count, int64_t *dims)
{
	struct span spans[KP_FAMILY_ROLES];

	if (count > check->n_roles || (count > 0 && !tensors) || check->unsupported)
		return false;
	for (size_t i = 0; i < check->n_roles; i++)
		if (!passes_role(check, &check->roles[i], i < count ? tensors[i] : NULL,
			    dims, &spans[i]))
			return false;
	return are_apart(check, spans);
}

static int explain(const struct kp_check *check, const struct kp_tensor *const *tensors,
	size_t count, struct kp_diag *diag)
{
	if (kp_arguments_check(
		    check->family, check->signature, tensors, count, NULL, diag) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const struct kp_role *role = &check->family->roles[i];
		if (!tensors[i] || has_place(check, &check->roles[i], tensors[i]->device))
			continue;
		return kp_diag_set(diag, "wrong_device", role->name,
			"%s: the tensor is on device %d of type %d, the site is for %d "
			"of type %d",
			role->name, tensors[i]->device.id, tensors[i]->device.type,
			check->place.id, check->place.type);
	}
	return 0;
}

int kp_check_tensors(const struct kp_check *check, const struct kp_tensor *const *tensors,
	size_t count, int64_t dims[KP_FAMILY_DIMS], struct kp_diag *diag)
{
	clear(check, dims);
	if (passes(check, tensors, count, dims)) {
		fill_presets(check, dims);
		return 0;
	}
	/* An output that is its own input (alias) passes there, and all with words. */
	if (explain(check, tensors, count, diag) < 0)
		return -1;
	kp_check_dims(check, tensors, count, dims);
	return 0;
}
