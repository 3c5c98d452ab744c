/* SPDX-License-Identifier: MIT */
/* Elements by name, and the canonical text of formats and signatures. */
#include <string.h>

#include "kplug/plugin.h"
#include "lib/base/text.h"
#include "lib/family/format.h"

static const struct {
	const char *name;
	unsigned char code;
	unsigned char bytes;
} elements[KP_ELEMENTS] = {
	[KP_F64] = {"f64", KP_CODE_FLOAT, 8},
	[KP_F32] = {"f32", KP_CODE_FLOAT, 4},
	[KP_F16] = {"f16", KP_CODE_FLOAT, 2},
	[KP_BF16] = {"bf16", KP_CODE_BFLOAT, 2},
	[KP_F8_E4M3FN] = {"f8_e4m3fn", KP_CODE_F8_E4M3FN, 1},
	[KP_F8_E5M2] = {"f8_e5m2", KP_CODE_F8_E5M2, 1},
	[KP_I8] = {"i8", KP_CODE_INT, 1},
	[KP_I16] = {"i16", KP_CODE_INT, 2},
	[KP_I32] = {"i32", KP_CODE_INT, 4},
	[KP_I64] = {"i64", KP_CODE_INT, 8},
	[KP_U8] = {"u8", KP_CODE_UINT, 1},
	[KP_U16] = {"u16", KP_CODE_UINT, 2},
	[KP_U32] = {"u32", KP_CODE_UINT, 4},
	[KP_U64] = {"u64", KP_CODE_UINT, 8},
	[KP_BOOL] = {"bool", KP_CODE_BOOL, 1},
};

const char *kp_element_name(enum kp_element element)
{
	return elements[element].name;
}

bool kp_element_parse(const char *text, enum kp_element *element)
{
	for (size_t i = 0; i < KP_ELEMENTS; i++) {
		if (strcmp(elements[i].name, text) != 0)
			continue;
		*element = (enum kp_element)i;
		return true;
	}
	return false;
}

size_t kp_element_bytes(enum kp_element element)
{
	return elements[element].bytes;
}

unsigned char kp_element_code(enum kp_element element)
{
	return elements[element].code;
}

static size_t add_scale(char *text, size_t size, size_t used, const struct kp_format *f)
{
	used = kp_text_add(text, size, used, "@%s", kp_element_name(f->scale));
	/* A layout stands behind a granularity, so that one is then written. */
	if (strcmp(f->granularity, "tensor") != 0 || f->scale_layout[0])
		used = kp_text_add(text, size, used, ":%s", f->granularity);
	if (f->scale_layout[0])
		used = kp_text_add(text, size, used, ":%s", f->scale_layout);
	if (f->block_dynamic)
		used = kp_text_add(text, size, used, ":block=dynamic");
	else if (f->block_rows)
		used = kp_text_add(text, size, used, ":block=%ux%u", f->block_rows,
			f->block_columns);
	return used;
}

static size_t add_format(char *text, size_t size, size_t used, const struct kp_format *f)
{
	if (f->name[0] && strcmp(f->name, "dense") != 0)
		used = kp_text_add(text, size, used, "%s:", f->name);
	used = kp_text_add(text, size, used, "%s", kp_element_name(f->element));
	if (f->layout[0])
		used = kp_text_add(text, size, used, "/%s", f->layout);
	return f->scaled ? add_scale(text, size, used, f) : used;
}

const char *kp_format_print(const struct kp_format *format, char *text, size_t size)
{
	add_format(text, size, 0, format);
	return text;
}

const char *kp_signature_print(
	const struct kp_signature *signature, char *text, size_t size)
{
	size_t used = kp_text_add(text, size, 0, "%s", "");

	for (size_t i = 0; i < signature->count; i++) {
		used = kp_text_add(text, size, used, "%s%s=", i ? "," : "",
			signature->operands[i].role);
		used = add_format(text, size, used, &signature->operands[i].format);
	}
	return text;
}

const struct kp_operand *kp_signature_find(
	const struct kp_signature *signature, const char *role)
{
	for (size_t i = 0; i < signature->count; i++)
		if (strcmp(signature->operands[i].role, role) == 0)
			return &signature->operands[i];
	return NULL;
}
