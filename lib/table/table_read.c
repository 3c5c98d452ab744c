/* SPDX-License-Identifier: MIT */
/* Looking things up in an open table. */
#include "lib/table/table_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/select/select.h"

uint64_t kp_table_generation(const struct kp_table *table)
{
	return kp_load64(table->bytes + KP_HEADER_GENERATION);
}

size_t kp_table_kernels(const struct kp_table *table)
{
	return kp_table_count(table, KP_SECTION_KERNELS);
}

size_t kp_table_plugins(const struct kp_table *table)
{
	return kp_table_count(table, KP_SECTION_PLUGINS);
}

/* What bsearch looks for: the record whose text at this field is the wanted one. */
struct wanted {
	const struct kp_table *table;
	const char *text;
	unsigned field;
};

static int compare_record(const void *key, const void *record)
{
	const struct wanted *wanted = key;
	const unsigned char *at = record;
	return strcmp(wanted->text,
		kp_table_text(wanted->table, kp_load32(at + wanted->field)));
}

/* In a section whose records are in byte order of this text; SIZE_MAX for none. */
static size_t search(const struct kp_table *table, enum kp_section section,
	unsigned field, const char *text)
{
	const struct wanted wanted = {table, text, field};
	const unsigned char *first = kp_table_record(table, section, 0);
	size_t stride = kp_table_stride(table, section);
	const unsigned char *found = bsearch(
		&wanted, first, kp_table_count(table, section), stride, compare_record);

	return found ? (size_t)(found - first) / stride : SIZE_MAX;
}

size_t kp_table_operation(const struct kp_table *table, const char *name)
{
	return search(table, KP_SECTION_OPERATIONS, KP_OPERATION_NAME, name);
}

size_t kp_table_plugin(const struct kp_table *table, const char *name)
{
	return search(table, KP_SECTION_PLUGINS, KP_PLUGIN_NAME, name);
}

uint32_t kp_table_symbol(const struct kp_table *table, const char *text)
{
	size_t i = search(table, KP_SECTION_SYMBOLS, 0, text);
	return i == SIZE_MAX ? 0
			     : kp_load32(kp_table_record(table, KP_SECTION_SYMBOLS, i));
}

const char *kp_table_pin(const struct kp_table *table, const char *operation, bool *force)
{
	size_t i = search(table, KP_SECTION_PINS, KP_PIN_OPERATION, operation);
	if (i == SIZE_MAX)
		return NULL;
	const unsigned char *pin = kp_table_record(table, KP_SECTION_PINS, i);
	if (force)
		*force = kp_load32(pin + KP_PIN_BITS) & KP_PIN_FORCE;
	return kp_table_text(table, kp_load32(pin + KP_PIN_CHOICE));
}

uint32_t kp_table_guard(const struct kp_table *table, const char *operation)
{
	size_t i =
		kp_table_has(table, KP_SECTION_GUARDS)
			? search(table, KP_SECTION_GUARDS, KP_GUARD_OPERATION, operation)
			: SIZE_MAX;

	return i == SIZE_MAX ? 0
			     : kp_load32(kp_table_record(table, KP_SECTION_GUARDS, i) +
					 KP_GUARD_EVERY);
}

static bool is_signature(const struct kp_table *table, const unsigned char *record,
	const char *operation, const char *signature)
{
	const unsigned char *of = kp_table_record(
		table, KP_SECTION_OPERATIONS, kp_load32(record + KP_SIGNATURE_OPERATION));
	return strcmp(signature, kp_table_text(table,
					 kp_load32(record + KP_SIGNATURE_TEXT))) == 0 &&
	       strcmp(operation,
		       kp_table_text(table, kp_load32(of + KP_OPERATION_NAME))) == 0;
}

size_t kp_table_signature(
	const struct kp_table *table, const char *operation, const char *signature)
{
	size_t slots = kp_table_count(table, KP_SECTION_SLOTS);
	size_t at = kp_hash_signature(operation, signature);

	/* Bounded: a table of strangers may have no free slot. */
	for (size_t i = 0; i < slots; i++, at++) {
		uint32_t link = kp_load32(
			kp_table_record(table, KP_SECTION_SLOTS, at & (slots - 1)));
		if (!link)
			break;
		if (is_signature(table,
			    kp_table_record(table, KP_SECTION_SIGNATURES, link - 1),
			    operation, signature))
			return link - 1;
	}
	return SIZE_MAX;
}

const unsigned char *kp_table_family(const struct kp_table *table, size_t operation)
{
	uint32_t link =
		kp_load32(kp_table_record(table, KP_SECTION_OPERATIONS, operation) +
			  KP_OPERATION_FAMILY);
	return link ? kp_table_record(table, KP_SECTION_FAMILIES, link - 1) : NULL;
}

const unsigned char *kp_family_role_record(
	const struct kp_table *table, const unsigned char *family, const char *role)
{
	size_t first = kp_load32(family + KP_FAMILY_ROLE_RANGE);
	size_t count = kp_load32(family + KP_FAMILY_ROLE_RANGE + 4);

	for (size_t i = first; i < first + count; i++) {
		const unsigned char *record = kp_table_record(table, KP_SECTION_ROLES, i);
		if (strcmp(role,
			    kp_table_text(table, kp_load32(record + KP_ROLE_NAME))) == 0)
			return record;
	}
	return NULL;
}

const char *kp_table_kernel_name(const struct kp_table *table, size_t i)
{
	return kp_table_text(
		table, kp_load32(kp_table_kernel(table, i) + KP_KERNEL_NAME));
}

const char *kp_table_kernel_plugin(const struct kp_table *table, size_t i)
{
	size_t plugin = kp_load32(kp_table_kernel(table, i) + KP_KERNEL_PLUGIN);
	return kp_table_text(
		table, kp_load32(kp_table_record(table, KP_SECTION_PLUGINS, plugin) +
				 KP_PLUGIN_NAME));
}

const char *kp_table_kernel_id(
	const struct kp_table *table, size_t i, char *text, size_t size)
{
	(void)snprintf(text, size, "%s/%s", kp_table_kernel_plugin(table, i),
		kp_table_kernel_name(table, i));
	return text;
}

void kp_table_reason(const struct kp_table *table, uint32_t link, const char **code,
	const char **message, const char **source)
{
	*code = *message = *source = NULL;
	if (!link)
		return;
	const unsigned char *reason =
		kp_table_record(table, KP_SECTION_REASONS, link - 1);
	*code = kp_table_text(table, kp_load32(reason + KP_REASON_CODE));
	*message = kp_table_text(table, kp_load32(reason + KP_REASON_MESSAGE));
	*source = kp_table_text(table, kp_load32(reason + KP_REASON_SOURCE));
}

void kp_table_scalar(const struct kp_table *table, size_t i, struct kp_scalar *scalar)
{
	const unsigned char *record = kp_table_record(table, KP_SECTION_SCALARS, i);

	scalar->kind = record[KP_SCALAR_KIND];
	scalar->number = kp_load_double(record + KP_SCALAR_VALUE);
	scalar->text =
		scalar->kind == KP_SCALAR_TEXT
			? kp_table_text(table, kp_load32(record + KP_SCALAR_STRING))
			: NULL;
}

size_t kp_table_trait(const struct kp_table *table, const unsigned char *record,
	struct kp_scalar *in, size_t room, struct kp_trait *trait)
{
	struct kp_list list = kp_table_list(table, kp_load32(record + KP_TRAIT_IN));
	unsigned bits = record[KP_TRAIT_BITS];

	*trait = (struct kp_trait){
		.name = kp_table_text(table, kp_load32(record + KP_TRAIT_NAME)),
		.required = bits & KP_TRAIT_REQUIRED,
		.has_min = bits & KP_TRAIT_HAS_MIN,
		.has_max = bits & KP_TRAIT_HAS_MAX,
		.has_multiple = bits & KP_TRAIT_HAS_MULTIPLE,
		.min = kp_load_double(record + KP_TRAIT_MIN),
		.max = kp_load_double(record + KP_TRAIT_MAX),
		.multiple_of = kp_load_double(record + KP_TRAIT_MULTIPLE),
		.n_in = list.count < room ? list.count : room,
		.in = in,
	};
	for (size_t i = 0; i < trait->n_in; i++)
		kp_table_scalar(table, kp_list_get(list, i), &in[i]);
	return list.count;
}

const char **kp_table_operations(const struct kp_table *table)
{
	size_t count = kp_table_count(table, KP_SECTION_OPERATIONS);
	const char **names = calloc(count + 1, sizeof(*names));

	for (size_t i = 0; names && i < count; i++)
		names[i] = kp_table_text(table,
			kp_load32(kp_table_record(table, KP_SECTION_OPERATIONS, i) +
				  KP_OPERATION_NAME));
	return names;
}
