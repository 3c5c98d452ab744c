/* SPDX-License-Identifier: MIT */
/* One role after the other, then all against each other. */
#include "lib/family/argument.h"

#include <inttypes.h>
#include <string.h>

#include "lib/family/element.h"
#include "lib/family/tensor.h"

/* The bytes of a tensor in memory; first == end: none. */
struct range {
	intptr_t first, end;
};

struct checking {
	const struct kp_family *family;
	const struct kp_signature *signature;
	struct kp_shape shape;
	const struct kp_tensor *tensors[KP_FAMILY_ROLES]; /* by role; NULL: absent */
	struct range ranges[KP_FAMILY_ROLES];
	struct kp_diag *diag;
};

static int check_present(
	struct checking *c, const struct kp_role *role, const struct kp_tensor *tensor)
{
	bool named = !c->signature || !role->key ||
		     kp_signature_find(c->signature, role->name) != NULL;

	if (role->repeat)
		return kp_diag_set(c->diag, "unsupported_role", role->name,
			"%s: a role that repeats cannot be passed, a call has one tensor "
			"a role",
			role->name);
	if (!tensor && !role->optional)
		return kp_diag_set(c->diag, "missing_tensor", role->name,
			"%s: the role is required, the call has NULL", role->name);
	if (tensor && !named)
		return kp_diag_set(c->diag, "unexpected_tensor", role->name,
			"%s: the call has a tensor, the signature does not have the role",
			role->name);
	return 0;
}

static int bad_tensor(
	const struct checking *c, const struct kp_role *role, const char *what)
{
	return kp_diag_set(c->diag, "bad_tensor", role->name, "%s: %s", role->name, what);
}

static int check_form(
	struct checking *c, const struct kp_role *role, const struct kp_tensor *tensor)
{
	if (tensor->ndim < 0 || (size_t)tensor->ndim != role->rank)
		return kp_diag_set(c->diag, "wrong_rank", role->name,
			"%s: the tensor has %d dims, %s has %zu here", role->name,
			tensor->ndim, c->family->operation, role->rank);
	if (role->rank > 0 && !tensor->shape)
		return bad_tensor(c, role, "the tensor has no shape");
	if (role->rank > 0 && !tensor->strides)
		return bad_tensor(c, role, "the tensor has no strides");
	if (tensor->byte_offset != 0)
		return bad_tensor(c, role, "the tensor has a byte offset, 0 is needed");
	bool on_cpu = tensor->device.type == KP_DEVICE_CPU;
	if (role->space == KP_SPACE_HOST && !on_cpu)
		return kp_diag_set(c->diag, "wrong_device", role->name,
			"%s: the tensor is on a device of type %d, the role is read by "
			"the host",
			role->name, tensor->device.type);
	return 0;
}

static bool is_allowed(const struct kp_role *role, enum kp_element element)
{
	for (size_t i = 0; i < role->formats.count; i++) {
		struct kp_format format;
		if (kp_format_parse(role->formats.items[i], &format, NULL) == 0 &&
			format.element == element)
			return true;
	}
	return false;
}

static int check_dtype(
	struct checking *c, const struct kp_role *role, const struct kp_tensor *tensor)
{
	const struct kp_operand *operand =
		c->signature ? kp_signature_find(c->signature, role->name) : NULL;
	enum kp_element element;
	bool known = kp_element_of_dtype(tensor->dtype, &element);

	if (known && (operand ? operand->format.element == element
			      : is_allowed(role, element)))
		return 0;
	const char *wanted = operand ? kp_element_name(operand->format.element)
				     : role->formats.items[0];
	if (!known)
		return kp_diag_set(c->diag, "wrong_dtype", role->name,
			"%s: the tensor's dtype (code %u, %u bits, %u lanes) has no "
			"name, %s is needed",
			role->name, tensor->dtype.code, tensor->dtype.bits,
			tensor->dtype.lanes, wanted);
	return kp_diag_set(c->diag, "wrong_dtype", role->name,
		"%s: the tensor is %s, %s is needed", role->name,
		kp_element_name(element), wanted);
}

/* The role that gave a dim first, for the message. */
static const char *first_with(const struct checking *c, const char *dim)
{
	for (size_t r = 0; r < c->family->n_roles; r++) {
		const struct kp_role *role = &c->family->roles[r];
		for (size_t i = 0; c->tensors[r] && i < role->rank; i++)
			if (role->dims[i].name && strcmp(role->dims[i].name, dim) == 0)
				return role->name;
	}
	return "another role";
}

static int check_dims(
	struct checking *c, const struct kp_role *role, const struct kp_tensor *tensor)
{
	for (size_t i = 0; i < role->rank; i++) {
		const char *dim = role->dims[i].name;
		int64_t extent = tensor->shape[i];
		int64_t wanted = dim ? kp_shape_get(&c->shape, dim)
				     : (int64_t)role->dims[i].number;
		if (extent < 0)
			return kp_diag_set(c->diag, "bad_extent", role->name,
				"%s: dim %zu (%s) is %" PRId64 ", 0 or more is needed",
				role->name, i, dim ? dim : "fixed", extent);
		if (wanted < 0)
			(void)kp_shape_set(&c->shape, dim, extent);
		else if (wanted != extent && dim)
			return kp_diag_set(c->diag, "dims_disagree", role->name,
				"%s: dim %zu (%s) is %" PRId64 ", %s has %" PRId64,
				role->name, i, dim, extent, first_with(c, dim), wanted);
		else if (wanted != extent)
			return kp_diag_set(c->diag, "dims_disagree", role->name,
				"%s: dim %zu is %" PRId64 ", the family has %" PRId64,
				role->name, i, extent, wanted);
	}
	return 0;
}

static int check_memory(struct checking *c, const struct kp_role *role,
	const struct kp_tensor *tensor, struct range *range)
{
	struct kp_diag why;
	int64_t first;
	int64_t end;

	if (kp_tensor_span(tensor, &first, &end, &why) < 0)
		return kp_diag_set(
			c->diag, why.code, role->name, "%s: %s", role->name, why.message);
	if (first == end)
		return 0;
	if (!tensor->data)
		return bad_tensor(c, role, "the tensor has elements but no data");
	intptr_t base = (intptr_t)tensor->data;
	if (__builtin_add_overflow(base, first, &range->first) ||
		__builtin_add_overflow(base, end, &range->end))
		return kp_diag_set(c->diag, "too_large", role->name,
			"%s: its bytes reach beyond the memory of a process", role->name);
	for (int32_t i = 0; role->direction != KP_IN && i < tensor->ndim; i++)
		if (tensor->strides[i] == 0 && tensor->shape[i] > 1)
			return kp_diag_set(c->diag, "overlap", role->name,
				"%s: an output whose dim %d has stride 0 overlaps itself",
				role->name, i);
	return 0;
}

/* ---- overlap ------------------------------------------------------------------------
 */

static bool is_same_memory(const struct kp_tensor *a, const struct kp_tensor *b)
{
	bool same = a->data == b->data && a->ndim == b->ndim &&
		    a->dtype.bits == b->dtype.bits;
	for (int32_t i = 0; same && i < a->ndim; i++)
		same = a->shape[i] == b->shape[i] && a->strides[i] == b->strides[i];
	return same;
}

static bool is_alias(const struct kp_role *a, const struct kp_role *b)
{
	return (a->alias && strcmp(a->alias, b->name) == 0) ||
	       (b->alias && strcmp(b->alias, a->name) == 0);
}

static int check_pair(struct checking *c, size_t i, size_t j)
{
	const struct kp_role *a = &c->family->roles[i];
	const struct kp_role *b = &c->family->roles[j];
	const struct range *x = &c->ranges[i];
	const struct range *y = &c->ranges[j];

	if (a->direction == KP_IN && b->direction == KP_IN)
		return 0;
	if (x->first == x->end || y->first == y->end || x->end <= y->first ||
		y->end <= x->first ||
		c->tensors[i]->device.type != c->tensors[j]->device.type ||
		c->tensors[i]->device.id != c->tensors[j]->device.id)
		return 0;
	if (a->interleave && b->interleave)
		return 0;
	if (is_alias(a, b) && is_same_memory(c->tensors[i], c->tensors[j]))
		return 0;
	const struct kp_role *out = a->direction != KP_IN ? a : b;
	return kp_diag_set(c->diag, "overlap", out->name,
		"%s and %s share memory ([0x%" PRIxPTR ", 0x%" PRIxPTR
		") and [0x%" PRIxPTR ", 0x%" PRIxPTR ")), %s",
		a->name, b->name, (uintptr_t)x->first, (uintptr_t)x->end,
		(uintptr_t)y->first, (uintptr_t)y->end,
		is_alias(a, b) ? "but are not the same elements"
			       : "which the family does not allow");
}

static int check_overlaps(struct checking *c)
{
	for (size_t i = 0; i < c->family->n_roles; i++)
		for (size_t j = i + 1; j < c->family->n_roles; j++)
			if (c->tensors[i] && c->tensors[j] && check_pair(c, i, j) < 0)
				return -1;
	return 0;
}

static int check_role(struct checking *c, size_t i, const struct kp_tensor *tensor)
{
	const struct kp_role *role = &c->family->roles[i];

	if (check_present(c, role, tensor) < 0)
		return -1;
	if (!tensor)
		return 0;
	if (check_form(c, role, tensor) < 0 || check_dtype(c, role, tensor) < 0 ||
		check_dims(c, role, tensor) < 0 ||
		check_memory(c, role, tensor, &c->ranges[i]) < 0)
		return -1;
	c->tensors[i] = tensor;
	return 0;
}

int kp_arguments_check(const struct kp_family *family,
	const struct kp_signature *signature, const struct kp_tensor *const *tensors,
	size_t count, struct kp_shape *shape, struct kp_diag *diag)
{
	struct checking c = {.family = family, .signature = signature, .diag = diag};

	if (count > family->n_roles || (count > 0 && !tensors))
		return kp_diag_set(diag, "wrong_count", family->operation,
			"the call has %zu tensors%s, %s has %zu roles", count,
			tensors ? "" : " in an array that is NULL", family->operation,
			family->n_roles);
	for (size_t i = 0; i < family->n_roles; i++)
		if (check_role(&c, i, i < count ? tensors[i] : NULL) < 0)
			return -1;
	if (check_overlaps(&c) < 0)
		return -1;
	if (shape)
		*shape = c.shape;
	return 0;
}
