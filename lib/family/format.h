/* SPDX-License-Identifier: MIT */
/*
 * The format of an operand and the signature of an operation: one grammar, one
 * parser, one printer.
 *
 *   signature = operand { "," operand }
 *   operand   = role "=" format
 *   format    = [name ":"] dtype ["/" layout] ["@" scale]
 *   scale     = dtype [":" granularity [":" layout]] [":block=" (R "x" C | "dynamic")]
 *
 * name is "dense" when absent. The canonical text has the operands in byte
 * order of their roles, no blanks and nothing that is a default: two signatures
 * are equal if and only if their canonical texts are.
 */
#ifndef KP_LIB_FORMAT_H
#define KP_LIB_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/diag.h"

enum kp_element {
	KP_F64,
	KP_F32,
	KP_F16,
	KP_BF16,
	KP_F8_E4M3FN,
	KP_F8_E5M2,
	KP_I8,
	KP_I16,
	KP_I32,
	KP_I64,
	KP_U8,
	KP_U16,
	KP_U32,
	KP_U64,
	KP_BOOL,
	KP_ELEMENTS /* how many */
};

enum { KP_SIGNATURE_ROLES = 32, KP_SIGNATURE_BYTES = 1024, KP_FORMAT_WORD = 24 };

struct kp_format {
	char name[KP_FORMAT_WORD];
	enum kp_element element;
	char layout[KP_FORMAT_WORD]; /* "" is the family's own */
	bool scaled;
	enum kp_element scale;
	char granularity[KP_FORMAT_WORD]; /* tensor when absent */
	char scale_layout[KP_FORMAT_WORD];
	bool block_dynamic;
	unsigned block_rows, block_columns; /* 0 when there is no block */
};

struct kp_operand {
	char role[65];
	struct kp_format format;
};

struct kp_signature {
	size_t count;
	struct kp_operand operands[KP_SIGNATURE_ROLES]; /* in byte order of role */
};

/* "f32" and back; bytes of one element; code, bits of DLPack in kplug/plugin.h. */
const char *kp_element_name(enum kp_element element);
bool kp_element_parse(const char *text, enum kp_element *element);
size_t kp_element_bytes(enum kp_element element);
unsigned char kp_element_code(enum kp_element element);

/*
 * Code bad_signature; the message says what was expected at which column:
 * unknown dtype (nearest offered; "fp8" and "fp32" are "ambiguous" and "write f32"), a
 * role twice, "scaled-fp8 requires scale", "granularity block requires block_shape".
 */
int kp_format_parse(const char *text, struct kp_format *format, struct kp_diag *diag)
	__attribute__((warn_unused_result));
int kp_signature_parse(const char *text, struct kp_signature *signature,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* The canonical text; return `text`. KP_SIGNATURE_BYTES hold every signature. */
const char *kp_format_print(const struct kp_format *format, char *text, size_t size);
const char *kp_signature_print(
	const struct kp_signature *signature, char *text, size_t size);

/* The operand of a role, or NULL. */
const struct kp_operand *kp_signature_find(
	const struct kp_signature *signature, const char *role);

#endif
