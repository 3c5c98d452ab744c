/* SPDX-License-Identifier: MIT */
/*
 * Opening a table: every offset, index and order that readers rely on is checked
 * here, field by field from one list, so that nothing later has to.
 */
#include "lib/table/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/table/table_layout.h"

/* What a field holds, and with it what is true of its value. */
enum field_kind {
	TEXT,	 /* starts a string */
	TEXTS,	 /* list of them */
	INDEX,	 /* of the target */
	INDEXES, /* list of them */
	LINK,	 /* index + 1, or 0 */
	RANGE,	 /* of the target */
	NUMBER,	 /* finite */
	BELOW,	 /* a byte below `limit` */
};

struct field {
	enum kp_section section;
	unsigned offset;
	enum field_kind kind;
	enum kp_section target;
	unsigned limit;
};

static const struct field fields[] = {
	{KP_SECTION_PLUGINS, KP_PLUGIN_NAME, TEXT, 0, 0},
	{KP_SECTION_PLUGINS, KP_PLUGIN_PACKAGE, TEXT, 0, 0},
	{KP_SECTION_PLUGINS, KP_PLUGIN_VERSION, TEXT, 0, 0},
	{KP_SECTION_PLUGINS, KP_PLUGIN_STORED, TEXT, 0, 0},
	{KP_SECTION_PLUGINS, KP_PLUGIN_DIGEST, TEXT, 0, 0},
	{KP_SECTION_PLUGINS, KP_PLUGIN_CLOSURE, TEXT, 0, 0},
	{KP_SECTION_PLUGINS, KP_PLUGIN_CONFIG, TEXT, 0, 0},
	{KP_SECTION_PLUGINS, KP_PLUGIN_MACHINE, TEXT, 0, 0},
	{KP_SECTION_PLUGINS, KP_PLUGIN_KERNEL_LIST, INDEXES, KP_SECTION_KERNELS, 0},
	{KP_SECTION_PLUGINS, KP_PLUGIN_REASON, LINK, KP_SECTION_REASONS, 0},
	{KP_SECTION_PLUGINS, KP_PLUGIN_FOUND, LINK, KP_SECTION_REASONS, 0},
	{KP_SECTION_PLUGINS, KP_PLUGIN_STATE, BELOW, 0, KP_STATES},
	{KP_SECTION_PLUGINS, KP_PLUGIN_VERDICT, BELOW, 0, KP_STATES},
	{KP_SECTION_KERNELS, KP_KERNEL_NAME, TEXT, 0, 0},
	{KP_SECTION_KERNELS, KP_KERNEL_PLUGIN, INDEX, KP_SECTION_PLUGINS, 0},
	{KP_SECTION_KERNELS, KP_KERNEL_OPERATION, INDEX, KP_SECTION_OPERATIONS, 0},
	{KP_SECTION_KERNELS, KP_KERNEL_PROFILE, INDEX, KP_SECTION_PROFILES, 0},
	{KP_SECTION_KERNELS, KP_KERNEL_SIGNATURES, TEXTS, 0, 0},
	{KP_SECTION_KERNELS, KP_KERNEL_TRAITS, INDEXES, KP_SECTION_TRAITS, 0},
	{KP_SECTION_KERNELS, KP_KERNEL_UNAVAILABLE, LINK, KP_SECTION_REASONS, 0},
	{KP_SECTION_KERNELS, KP_KERNEL_OFF, LINK, KP_SECTION_REASONS, 0},
	{KP_SECTION_KERNELS, KP_KERNEL_PRIORITY, BELOW, 0, KP_PRIORITY_END},
	{KP_SECTION_KERNELS, KP_KERNEL_POLICY, BELOW, 0, KP_PRIORITY_END},
	{KP_SECTION_KERNELS, KP_KERNEL_STATE, BELOW, 0, KP_STATES},
	{KP_SECTION_OPERATIONS, KP_OPERATION_NAME, TEXT, 0, 0},
	{KP_SECTION_OPERATIONS, KP_OPERATION_KERNELS, RANGE, KP_SECTION_KERNELS, 0},
	{KP_SECTION_OPERATIONS, KP_OPERATION_FAMILY, LINK, KP_SECTION_FAMILIES, 0},
	{KP_SECTION_SIGNATURES, KP_SIGNATURE_OPERATION, INDEX, KP_SECTION_OPERATIONS, 0},
	{KP_SECTION_SIGNATURES, KP_SIGNATURE_TEXT, TEXT, 0, 0},
	{KP_SECTION_SIGNATURES, KP_SIGNATURE_KERNELS, INDEXES, KP_SECTION_KERNELS, 0},
	{KP_SECTION_SIGNATURES, KP_SIGNATURE_FITS, INDEXES, KP_SECTION_KERNELS, 0},
	{KP_SECTION_SLOTS, 0, LINK, KP_SECTION_SIGNATURES, 0},
	{KP_SECTION_PROFILES, KP_PROFILE_SOLUTION, TEXT, 0, 0},
	{KP_SECTION_PROFILES, KP_PROFILE_CAPABILITY, INDEX, KP_SECTION_CAPABILITIES, 0},
	{KP_SECTION_PROFILES, KP_PROFILE_TAGS, TEXTS, 0, 0},
	{KP_SECTION_PROFILES, KP_PROFILE_FEATURES, TEXTS, 0, 0},
	{KP_SECTION_PROFILES, KP_PROFILE_NEEDS, TEXTS, 0, 0},
	{KP_SECTION_PROFILES, KP_PROFILE_LAYOUTS, TEXTS, 0, 0},
	{KP_SECTION_CAPABILITIES, KP_CAPABILITY_VENDORS, TEXTS, 0, 0},
	{KP_SECTION_CAPABILITIES, KP_CAPABILITY_FEATURES, TEXTS, 0, 0},
	{KP_SECTION_CAPABILITIES, KP_CAPABILITY_DEVICE, BELOW, 0, KP_GPU + 1},
	{KP_SECTION_TRAITS, KP_TRAIT_MIN, NUMBER, 0, 0},
	{KP_SECTION_TRAITS, KP_TRAIT_MAX, NUMBER, 0, 0},
	{KP_SECTION_TRAITS, KP_TRAIT_MULTIPLE, NUMBER, 0, 0},
	{KP_SECTION_TRAITS, KP_TRAIT_NAME, TEXT, 0, 0},
	{KP_SECTION_TRAITS, KP_TRAIT_IN, INDEXES, KP_SECTION_SCALARS, 0},
	{KP_SECTION_SCALARS, KP_SCALAR_VALUE, NUMBER, 0, 0},
	{KP_SECTION_SCALARS, KP_SCALAR_STRING, TEXT, 0, 0},
	{KP_SECTION_SCALARS, KP_SCALAR_KIND, BELOW, 0, KP_SCALAR_TEXT + 1},
	{KP_SECTION_REASONS, KP_REASON_CODE, TEXT, 0, 0},
	{KP_SECTION_REASONS, KP_REASON_MESSAGE, TEXT, 0, 0},
	{KP_SECTION_REASONS, KP_REASON_SOURCE, TEXT, 0, 0},
	{KP_SECTION_FAMILIES, KP_FAMILY_OPERATION, TEXT, 0, 0},
	{KP_SECTION_FAMILIES, KP_FAMILY_SIGNATURE, TEXT, 0, 0},
	{KP_SECTION_FAMILIES, KP_FAMILY_DIM_LIST, TEXTS, 0, 0},
	{KP_SECTION_FAMILIES, KP_FAMILY_ROLE_RANGE, RANGE, KP_SECTION_ROLES, 0},
	{KP_SECTION_FAMILIES, KP_FAMILY_RULE_RANGE, RANGE, KP_SECTION_RULES, 0},
	{KP_SECTION_FAMILIES, KP_FAMILY_DERIVED_RANGE, RANGE, KP_SECTION_DERIVED, 0},
	{KP_SECTION_ROLES, KP_ROLE_NAME, TEXT, 0, 0},
	{KP_SECTION_RULES, KP_RULE_NAME, TEXT, 0, 0},
	{KP_SECTION_RULES, KP_RULE_DIM, TEXT, 0, 0},
	{KP_SECTION_RULES, KP_RULE_PRESET, LINK, KP_SECTION_SCALARS, 0},
	{KP_SECTION_RULES, KP_RULE_KIND, BELOW, 0, KP_SCALAR_TEXT + 1},
	{KP_SECTION_DERIVED, KP_DERIVED_NAME, TEXT, 0, 0},
	{KP_SECTION_DERIVED, KP_DERIVED_TIMES, INDEXES, KP_SECTION_FACTORS, 0},
	{KP_SECTION_DERIVED, KP_DERIVED_OVER, INDEXES, KP_SECTION_FACTORS, 0},
	{KP_SECTION_FACTORS, KP_FACTOR_NUMBER, NUMBER, 0, 0},
	{KP_SECTION_FACTORS, KP_FACTOR_NAME, TEXT, 0, 0},
	{KP_SECTION_DEVICES, KP_DEVICE_ID, TEXT, 0, 0},
	{KP_SECTION_DEVICES, KP_DEVICE_VENDOR, TEXT, 0, 0},
	{KP_SECTION_DEVICES, KP_DEVICE_NAME, TEXT, 0, 0},
	{KP_SECTION_DEVICES, KP_DEVICE_FEATURE_LIST, TEXTS, 0, 0},
	{KP_SECTION_DEVICES, KP_DEVICE_KIND, BELOW, 0, KP_GPU + 1},
	{KP_SECTION_PINS, KP_PIN_OPERATION, TEXT, 0, 0},
	{KP_SECTION_PINS, KP_PIN_CHOICE, TEXT, 0, 0},
	{KP_SECTION_GUARDS, KP_GUARD_OPERATION, TEXT, 0, 0},
	{KP_SECTION_SYMBOLS, 0, TEXT, 0, 0},
};

/* `seen` has a byte for each word: bit 0, a list starts here; others, its kind was
 * checked. */
struct check {
	struct kp_table table;
	unsigned char *seen;
	struct kp_diag *diag;
};

static int damaged(struct kp_diag *diag, const char *what)
{
	return kp_diag_set(diag, "bad_table", NULL, "the table is damaged: %s", what);
}

static int check_header(const unsigned char *bytes, size_t size, struct kp_diag *diag)
{
	size_t least = KP_TABLE_HEADER + KP_TABLE_DIRECTORY * (size_t)KP_SECTIONS_LEAST;

	if (size < KP_TABLE_HEADER || memcmp(bytes, "KPLUGTB", 7) != 0)
		return damaged(diag, "it does not start like one");
	unsigned major = kp_load32(bytes + KP_HEADER_MAJOR) & 0xffff;
	unsigned minor = kp_load32(bytes + KP_HEADER_MAJOR) >> 16;
	if (major != KP_TABLE_MAJOR)
		return kp_diag_set(diag, "newer_format", NULL,
			"the table has format %u.%u, this program reads %d.x", major,
			minor, KP_TABLE_MAJOR);
	if (bytes[7] != '1')
		return damaged(diag, "it does not start like one");
	if (size < least || size > KP_TABLE_MOST)
		return damaged(diag, "its size is impossible");
	if (kp_load64(bytes + KP_HEADER_SIZE) != size)
		return damaged(diag, "it is cut, or something follows it");
	if (kp_load32(bytes + KP_HEADER_SECTIONS) < KP_SECTIONS_LEAST ||
		kp_load32(bytes + KP_HEADER_SECTIONS) >
			(size - KP_TABLE_HEADER) / KP_TABLE_DIRECTORY)
		return damaged(diag, "it lacks sections");
	if (kp_load64(bytes + KP_HEADER_CHECKSUM) != kp_table_checksum(bytes, size))
		return damaged(diag, "its checksum is wrong");
	return 0;
}

static int check_sections(const struct check *c)
{
	for (unsigned s = 0; s < KP_SECTIONS && kp_table_has(&c->table, s); s++) {
		const unsigned char *directory = kp_table_directory(&c->table, s);
		uint64_t offset = kp_load32(directory);
		uint64_t count = kp_load32(directory + 4);
		uint64_t record = kp_load32(directory + 8);
		if (record < kp_record_sizes[s] || record > KP_RECORD_MOST ||
			offset > c->table.size || count * record > c->table.size - offset)
			return damaged(c->diag, "a section does not fit");
	}
	size_t words = kp_load32(kp_table_directory(&c->table, KP_SECTION_WORDS) + 8);
	size_t strings = kp_load32(kp_table_directory(&c->table, KP_SECTION_STRINGS) + 8);
	if (words != KP_WORD_RECORD || strings != KP_STRING_RECORD)
		return damaged(c->diag, "words or strings have gaps");
	return 0;
}

static int check_strings(const struct check *c)
{
	size_t size = kp_table_count(&c->table, KP_SECTION_STRINGS);
	const char *strings = kp_table_text(&c->table, 0);

	if (size == 0 || strings[0] != '\0' || strings[size - 1] != '\0')
		return damaged(c->diag, "a string is not ended");
	if (!kp_text_is_utf8(strings, size))
		return damaged(c->diag, "a string is not UTF-8");
	return 0;
}

/* The lists tile the words: no two overlap, so checking each once is enough. */
static int mark_lists(const struct check *c)
{
	size_t count = kp_table_count(&c->table, KP_SECTION_WORDS);
	size_t at = 0;

	while (at < count) {
		c->seen[at] = 1;
		size_t length =
			kp_load32(kp_table_record(&c->table, KP_SECTION_WORDS, at));
		if (length > count - at - 1)
			return damaged(c->diag, "a list does not fit");
		at += length + 1;
	}
	return 0;
}

static bool is_text(const struct check *c, uint32_t offset)
{
	if (offset >= kp_table_count(&c->table, KP_SECTION_STRINGS))
		return false;
	return offset == 0 || kp_table_text(&c->table, offset)[-1] == '\0';
}

static bool is_list(const struct check *c, uint32_t at, const struct field *field)
{
	/* One bit for texts and one for each section that lists point to. */
	unsigned bit = field->kind == TEXTS		     ? 1
		       : field->target == KP_SECTION_KERNELS ? 2
		       : field->target == KP_SECTION_TRAITS  ? 3
		       : field->target == KP_SECTION_SCALARS ? 4
							     : 5;
	if (at >= kp_table_count(&c->table, KP_SECTION_WORDS) || !(c->seen[at] & 1))
		return false;
	if (c->seen[at] & 1u << bit)
		return true;
	struct kp_list list = kp_table_list(&c->table, at);
	for (size_t i = 0; i < list.count; i++) {
		uint32_t word = kp_list_get(list, i);
		if (field->kind == TEXTS
				? !is_text(c, word)
				: word >= kp_table_count(&c->table, field->target))
			return false;
	}
	c->seen[at] |= (unsigned char)(1u << bit);
	return true;
}

static bool is_range(
	const struct check *c, const unsigned char *at, enum kp_section target)
{
	uint64_t first = kp_load32(at);
	uint64_t count = kp_load32(at + 4);
	return first + count <= kp_table_count(&c->table, target);
}

static bool holds(
	const struct check *c, const struct field *field, const unsigned char *at)
{
	switch (field->kind) {
	case TEXT:
		return is_text(c, kp_load32(at));
	case TEXTS:
	case INDEXES:
		return is_list(c, kp_load32(at), field);
	case INDEX:
		return kp_load32(at) < kp_table_count(&c->table, field->target);
	case LINK:
		return kp_load32(at) <= kp_table_count(&c->table, field->target);
	case RANGE:
		return is_range(c, at, field->target);
	case NUMBER:
		return isfinite(kp_load_double(at));
	case BELOW:
		return *at < field->limit;
	}
	return false;
}

static int check_fields(const struct check *c)
{
	for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++) {
		const struct field *field = &fields[f];
		if (!kp_table_has(&c->table, field->section))
			continue;
		size_t count = kp_table_count(&c->table, field->section);
		for (size_t i = 0; i < count; i++)
			if (!holds(c, field,
				    kp_table_record(&c->table, field->section, i) +
					    field->offset))
				return damaged(c->diag, "a field points nowhere");
	}
	return 0;
}

/* Are the texts at this field of the section's records strictly ascending? */
static bool ascends(const struct check *c, enum kp_section section, unsigned offset)
{
	size_t count = kp_table_count(&c->table, section);
	const char *last = NULL;

	for (size_t i = 0; i < count; i++) {
		const unsigned char *at = kp_table_record(&c->table, section, i) + offset;
		const char *text = kp_table_text(&c->table, kp_load32(at));
		if (last && strcmp(last, text) >= 0)
			return false;
		last = text;
	}
	return true;
}

static int check_order(const struct check *c)
{
	size_t slots = kp_table_count(&c->table, KP_SECTION_SLOTS);

	if (slots & (slots - 1))
		return damaged(c->diag, "its index has an impossible size");
	if (!ascends(c, KP_SECTION_PLUGINS, KP_PLUGIN_NAME) ||
		!ascends(c, KP_SECTION_OPERATIONS, KP_OPERATION_NAME) ||
		!ascends(c, KP_SECTION_PINS, KP_PIN_OPERATION) ||
		(kp_table_has(&c->table, KP_SECTION_GUARDS) &&
			!ascends(c, KP_SECTION_GUARDS, KP_GUARD_OPERATION)) ||
		!ascends(c, KP_SECTION_SYMBOLS, 0))
		return damaged(c->diag, "names are not in order");
	if (kp_table_count(&c->table, KP_SECTION_DEVICES) > KP_TABLE_DEVICES)
		return damaged(c->diag, "it has too many devices");
	return 0;
}

int kp_table_open(
	const void *bytes, size_t size, struct kp_table *table, struct kp_diag *diag)
{
	struct check c = {{bytes, size}, NULL, diag};
	int result = -1;

	if (check_header(bytes, size, diag) < 0 || check_sections(&c) < 0 ||
		check_strings(&c) < 0)
		return -1;
	c.seen = calloc(kp_table_count(&c.table, KP_SECTION_WORDS) + 1, 1);
	if (!c.seen)
		return kp_diag_no_memory(diag);
	if (mark_lists(&c) == 0 && check_fields(&c) == 0 && check_order(&c) == 0) {
		*table = c.table;
		result = 0;
	}
	free(c.seen);
	return result;
}
