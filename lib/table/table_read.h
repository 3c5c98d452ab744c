/* SPDX-License-Identifier: MIT */
/*
 * Looking things up in an open table: operations, symbols, signatures, reasons.
 * For the units that answer from tables; results are indexes or offsets.
 */
#ifndef KP_LIB_TABLE_READ_H
#define KP_LIB_TABLE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/table/table_layout.h"

/* Index of the operation or plugin, SIZE_MAX when there is none. */
size_t kp_table_operation(const struct kp_table *table, const char *name);
size_t kp_table_plugin(const struct kp_table *table, const char *name);
/* Index in SIGNATURES; one hash lookup. */
size_t kp_table_signature(
	const struct kp_table *table, const char *operation, const char *signature);
/* The offset of a text that something in the table is compared with, or 0. */
uint32_t kp_table_symbol(const struct kp_table *table, const char *text);
/* The pin of an operation, or NULL; *force (may be NULL): beyond what it declares. */
const char *kp_table_pin(
	const struct kp_table *table, const char *operation, bool *force);

/* One call of the operation in so many is compared; 0: none, as far as operators say. */
uint32_t kp_table_guard(const struct kp_table *table, const char *operation);

/* The record of the operation's family, or NULL. */
const unsigned char *kp_table_family(const struct kp_table *table, size_t operation);
/* In ROLES; the record of a role, or NULL. */
const unsigned char *kp_family_role_record(
	const struct kp_table *table, const unsigned char *family, const char *role);

static inline const unsigned char *kp_table_kernel(const struct kp_table *table, size_t i)
{
	return kp_table_record(table, KP_SECTION_KERNELS, i);
}
static inline const unsigned char *kp_table_profile(
	const struct kp_table *table, const unsigned char *kernel)
{
	return kp_table_record(
		table, KP_SECTION_PROFILES, kp_load32(kernel + KP_KERNEL_PROFILE));
}
const char *kp_table_kernel_name(const struct kp_table *table, size_t i);
const char *kp_table_kernel_plugin(const struct kp_table *table, size_t i);
/* "plugin/kernel"; returns `text`. KP_KERNEL_ID_BYTES hold every id. */
enum { KP_KERNEL_ID_BYTES = 160 };
const char *kp_table_kernel_id(
	const struct kp_table *table, size_t i, char *text, size_t size);

/* code, message and source of a link of REASONS; NULLs for 0. */
void kp_table_reason(const struct kp_table *table, uint32_t link, const char **code,
	const char **message, const char **source);

void kp_table_scalar(const struct kp_table *table, size_t i, struct kp_scalar *scalar);

/*
 * What a record of TRAITS says; texts belong to the table, `in` to the caller: it gets
 * the first `room` values of the trait's list. Returns how many the list has.
 */
size_t kp_table_trait(const struct kp_table *table, const unsigned char *record,
	struct kp_scalar *in, size_t room, struct kp_trait *trait);

#endif
