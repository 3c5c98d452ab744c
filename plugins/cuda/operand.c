/* SPDX-License-Identifier: MIT */
/* Checks of the tensors and attributes of a call; reads no tensor's data. */
#include "operand.h"

#include <inttypes.h>
#include <string.h>

#include "failure.h"

static int check_type(const struct kp_call *call, const struct operand *role,
	const struct kp_tensor *tensor, struct operands *operands, bool first)
{
	struct kp_dtype type = tensor->dtype;
	bool f32 = type.code == KP_CODE_FLOAT && type.bits == 32 && type.lanes == 1;
	bool bf16 = type.code == KP_CODE_BFLOAT && type.bits == 16 && type.lanes == 1;
	bool i32 = type.code == KP_CODE_INT && type.bits == 32 && type.lanes == 1;

	if (tensor->ndim != (int32_t)strlen(role->dims))
		return failure(call->error, KP_INVALID, 0, "%s: rank %d, not %zu",
			role->name, (int)tensor->ndim, strlen(role->dims));
	if (role->index ? !i32 : !f32 && !bf16)
		return failure(call->error, KP_UNSUPPORTED, 0, "%s: only %s is supported",
			role->name, role->index ? "i32" : "f32 or bf16");
	if (!role->index && first)
		operands->bf16 = bf16;
	if (!role->index && operands->bf16 != bf16)
		return failure(call->error, KP_UNSUPPORTED, 0,
			"%s: is %s, the others are not", role->name,
			bf16 ? "bf16" : "f32");
	return KP_OK;
}

static int check_extents(const struct kp_call *call, const struct operand *role,
	const struct kp_tensor *tensor, struct operands *operands)
{
	for (int i = 0; role->dims[i]; i++) {
		int64_t *known = &operands->extents[role->dims[i] - 'a'];
		int64_t given = tensor->shape[i];

		if (given < 0 || (*known >= 0 && *known != given))
			return failure(call->error, KP_INVALID, 0,
				"%s: dim %c is %" PRId64 ", not %" PRId64, role->name,
				role->dims[i], given, *known < 0 ? 0 : *known);
		*known = given;
	}
	return KP_OK;
}

int operands_take(const struct kp_call *call, const struct operand *roles, uint32_t count,
	struct operands *operands)
{
	memset(operands, 0, sizeof(*operands));
	memset(operands->extents, 0xff, sizeof(operands->extents));
	for (uint32_t i = 0; i < count; i++) {
		const struct kp_tensor *tensor =
			i < call->n_tensors ? call->tensors[i] : NULL;
		int status;

		operands->tensor[i] = tensor;
		if (!tensor && roles[i].optional)
			continue;
		if (!tensor)
			return failure(
				call->error, KP_INVALID, 0, "%s: missing", roles[i].name);
		status = check_type(call, &roles[i], tensor, operands, i == 0);
		if (status == KP_OK)
			status = check_extents(call, &roles[i], tensor, operands);
		if (status != KP_OK)
			return status;
	}
	return KP_OK;
}

int64_t operand_step(const struct kp_tensor *tensor, int dim)
{
	return tensor->shape[dim] > 1 ? tensor->strides[dim] : 1;
}

bool operand_fits(const struct kp_tensor *tensor, int bytes)
{
	if (!tensor)
		return true;
	int last = tensor->ndim - 1, size = tensor->dtype.bits / 8;

	if ((uintptr_t)tensor->data % (unsigned)bytes || operand_step(tensor, last) != 1)
		return false;
	for (int i = 0; i < last; i++)
		if (tensor->shape[i] > 1 && tensor->strides[i] * size % bytes)
			return false;
	return true;
}

double operand_real(const struct kp_call *call, uint32_t index, double preset)
{
	return index < call->n_attrs ? call->attrs[index].f : preset;
}

int64_t operand_integer(const struct kp_call *call, uint32_t index, int64_t preset)
{
	return index < call->n_attrs ? call->attrs[index].i : preset;
}
