/* SPDX-License-Identifier: MIT */
/* Checks of the tensors and attributes of a call; knows no operation. */
#include "operand.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int operand_fail(struct kp_error *error, int status, const char *format, ...)
{
	va_list arguments;

	if (!error || !KP_COVERS(error, text))
		return status;
	error->status = status;
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return status;
}

static int is_supported(struct kp_dtype dtype, enum kind kind)
{
	int bits = dtype.code == KP_CODE_BFLOAT ? 16 : 32;

	if (dtype.bits != bits || dtype.lanes != 1)
		return 0;
	if (kind == INTEGER)
		return dtype.code == KP_CODE_INT;
	return dtype.code == KP_CODE_FLOAT || dtype.code == KP_CODE_BFLOAT;
}

static int check_type(const struct kp_call *call, const struct operand *role,
	const struct kp_tensor *tensor)
{
	if (tensor->ndim != (int32_t)strlen(role->dims))
		return operand_fail(call->error, KP_INVALID, "%s: rank %d, not %zu",
			role->name, (int)tensor->ndim, strlen(role->dims));
	if (!is_supported(tensor->dtype, role->kind))
		return operand_fail(call->error, KP_UNSUPPORTED, "%s: only %s supported",
			role->name,
			role->kind == INTEGER ? "i32 is" : "f32 and bf16 are");
	return KP_OK;
}

static int check_extents(const struct kp_call *call, const struct operand *role,
	const struct kp_tensor *tensor, struct extents *extents)
{
	for (int i = 0; role->dims[i]; i++) {
		int64_t *known = &extents->of[role->dims[i] - 'a'];
		int64_t given = tensor->shape[i];

		if (given < 0 || (*known >= 0 && *known != given))
			return operand_fail(call->error, KP_INVALID,
				"%s: dim %c is %" PRId64 ", not %" PRId64, role->name,
				role->dims[i], given, *known < 0 ? 0 : *known);
		*known = given;
	}
	return KP_OK;
}

int operands_take(const struct kp_call *call, const struct operand *roles, uint32_t count,
	const struct kp_tensor **tensors, struct extents *extents)
{
	memset(extents, 0xff, sizeof(*extents));
	for (uint32_t i = 0; i < count; i++) {
		int status;

		tensors[i] = i < call->n_tensors ? call->tensors[i] : NULL;
		if (!tensors[i] && roles[i].optional)
			continue;
		if (!tensors[i])
			return operand_fail(
				call->error, KP_INVALID, "%s: missing", roles[i].name);
		status = check_type(call, &roles[i], tensors[i]);
		if (status == KP_OK)
			status = check_extents(call, &roles[i], tensors[i], extents);
		if (status != KP_OK)
			return status;
	}
	return KP_OK;
}

double operand_real(const struct kp_call *call, uint32_t index, double preset)
{
	return index < call->n_attrs ? call->attrs[index].f : preset;
}

int64_t operand_integer(const struct kp_call *call, uint32_t index, int64_t preset)
{
	return index < call->n_attrs ? call->attrs[index].i : preset;
}
