/* SPDX-License-Identifier: MIT */
/*
 * How the flat table is laid out: sections, fields of records, and loads. For
 * the units that write, check and read tables; nobody else looks inside.
 *
 * Header: magic 8, major u16, minor u16, sections u32, generation u64, size u64,
 * checksum u64, zero to 64. Directory: offset u32, count u32, record u32,
 * zero u32 for each section. A text is an offset into STRINGS, 0 being "" or
 * none. A list is an index into WORDS: count, then so many words; the lists tile
 * WORDS. A link is an index plus 1, 0 being none. A range is first and count.
 */
#ifndef KP_LIB_TABLE_LAYOUT_H
#define KP_LIB_TABLE_LAYOUT_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/table/table.h"

enum {
	KP_TABLE_HEADER = 64,
	KP_TABLE_DIRECTORY = 16,
	KP_TABLE_MOST = 1 << 30, /* bytes of a table */
	KP_TABLE_DEVICES = 64,	 /* as many as a platform has */
	KP_RECORD_MOST = 4096,	 /* bytes of a record of a later minor */

	KP_HEADER_MAJOR = 8,
	KP_HEADER_MINOR = 10,
	KP_HEADER_SECTIONS = 12,
	KP_HEADER_GENERATION = 16,
	KP_HEADER_SIZE = 24,
	KP_HEADER_CHECKSUM = 32,
};

enum kp_section {
	KP_SECTION_PLUGINS,    /* in byte order of name */
	KP_SECTION_KERNELS,    /* in byte order of operation, plugin, name */
	KP_SECTION_OPERATIONS, /* in byte order of name; all of kernels and families */
	KP_SECTION_SIGNATURES, /* an operation's signature and its kernels by rank */
	KP_SECTION_SLOTS,      /* hash of operation and signature; links of SIGNATURES */
	KP_SECTION_PROFILES,   /* what variants of a kernel have in common */
	KP_SECTION_CAPABILITIES,
	KP_SECTION_TRAITS,
	KP_SECTION_SCALARS,
	KP_SECTION_REASONS,
	KP_SECTION_FAMILIES,
	KP_SECTION_ROLES,
	KP_SECTION_RULES, /* of traits, then of attributes */
	KP_SECTION_DERIVED,
	KP_SECTION_FACTORS,
	KP_SECTION_DEVICES,
	KP_SECTION_PINS,    /* in byte order of operation */
	KP_SECTION_SYMBOLS, /* texts that requests are compared with, in byte order */
	KP_SECTION_WORDS,
	KP_SECTION_STRINGS,
	KP_SECTION_GUARDS, /* in byte order of operation; since minor 1 */
	KP_SECTIONS
};

/* Whatever else there is: tables of minor 0 have no more. */
enum { KP_SECTIONS_LEAST = KP_SECTION_STRINGS + 1 };

enum { KP_PIN_FORCE = 1 }; /* of KP_PIN_BITS */

/* Offsets of fields in records; the last of each is the record's size. */
enum {
	KP_PLUGIN_NAME = 0,
	KP_PLUGIN_PACKAGE = 4,
	KP_PLUGIN_VERSION = 8,
	KP_PLUGIN_STORED = 12,
	KP_PLUGIN_DIGEST = 16,
	KP_PLUGIN_CLOSURE = 20,
	KP_PLUGIN_CONFIG = 24,	    /* JSON text */
	KP_PLUGIN_KERNEL_LIST = 28, /* list of KERNELS, ascending */
	KP_PLUGIN_REASON = 32,	    /* link of REASONS */
	KP_PLUGIN_FOUND = 36,	    /* link of REASONS: what the verdict said */
	KP_PLUGIN_STATE = 40,	    /* u8 enum kp_state */
	KP_PLUGIN_VERDICT = 41, /* u8 enum kp_state: before decisions and duplicates */
	KP_PLUGIN_MACHINE = 44, /* symbol: the vendor of CPUs that can load it, or "" */
	KP_PLUGIN_RECORD = 48,

	KP_KERNEL_NAME = 0,
	KP_KERNEL_PLUGIN = 4,	    /* index */
	KP_KERNEL_OPERATION = 8,    /* index */
	KP_KERNEL_PROFILE = 12,	    /* index */
	KP_KERNEL_SIGNATURES = 16,  /* list of texts */
	KP_KERNEL_TRAITS = 20,	    /* list of TRAITS, in byte order of name */
	KP_KERNEL_UNAVAILABLE = 24, /* link of REASONS: the probe's */
	KP_KERNEL_OFF = 28,	    /* link of REASONS: why the state is not active */
	KP_KERNEL_PRIORITY = 32,    /* u8 */
	KP_KERNEL_POLICY = 33,	    /* u8 */
	KP_KERNEL_STATE = 34,	    /* u8 enum kp_state */
	KP_KERNEL_OBJECTIVES = 35,  /* u8 bits 1 << enum kp_objective */
	KP_KERNEL_RECORD = 36,

	KP_OPERATION_NAME = 0,
	KP_OPERATION_KERNELS = 4, /* range */
	KP_OPERATION_FAMILY = 12, /* link */
	KP_OPERATION_RECORD = 16,

	KP_SIGNATURE_OPERATION = 0, /* index */
	KP_SIGNATURE_TEXT = 4,
	KP_SIGNATURE_KERNELS = 8, /* list of KERNELS: policy, priority, then names */
	KP_SIGNATURE_FITS = 12, /* for each of them the first kernel that fits like it */
	KP_SIGNATURE_RECORD = 16,

	KP_SLOT_RECORD = 4,

	KP_PROFILE_SOLUTION = 0,
	KP_PROFILE_CAPABILITY = 4, /* index */
	KP_PROFILE_TAGS = 8,	   /* lists of texts, in byte order */
	KP_PROFILE_FEATURES = 12,
	KP_PROFILE_NEEDS = 16,
	KP_PROFILE_LAYOUTS = 20,
	KP_PROFILE_REVISION = 24, /* u32 */
	KP_PROFILE_FLAGS = 28,	  /* u32 enum kp_flag */
	KP_PROFILE_RECORD = 32,

	KP_CAPABILITY_VENDORS = 0,  /* list of texts */
	KP_CAPABILITY_FEATURES = 4, /* list of texts */
	KP_CAPABILITY_MIN = 8,	    /* i32 major, i32 minor */
	KP_CAPABILITY_MAX = 16,
	KP_CAPABILITY_DEVICE = 24, /* u8 enum kp_device_kind */
	KP_CAPABILITY_BOUNDS = 25, /* u8: 1 min, 2 max */
	KP_CAPABILITY_RECORD = 28,

	KP_TRAIT_MIN = 0, /* f64 */
	KP_TRAIT_MAX = 8,
	KP_TRAIT_MULTIPLE = 16,
	KP_TRAIT_NAME = 24,
	KP_TRAIT_IN = 28,   /* list of SCALARS */
	KP_TRAIT_BITS = 32, /* u8 enum kp_trait_bit */
	KP_TRAIT_RECORD = 36,

	KP_SCALAR_VALUE = 0, /* f64 */
	KP_SCALAR_STRING = 8,
	KP_SCALAR_KIND = 12, /* u8 enum kp_scalar_kind */
	KP_SCALAR_RECORD = 16,

	KP_REASON_CODE = 0,
	KP_REASON_MESSAGE = 4,
	KP_REASON_SOURCE = 8,
	KP_REASON_RECORD = 12,

	KP_FAMILY_OPERATION = 0,
	KP_FAMILY_SIGNATURE = 4,
	KP_FAMILY_DIM_LIST = 8, /* list of texts */
	KP_FAMILY_ROLE_RANGE = 12,
	KP_FAMILY_RULE_RANGE = 20,
	KP_FAMILY_DERIVED_RANGE = 28,
	KP_FAMILY_REVISION = 36, /* u32 */
	KP_FAMILY_RECORD = 40,

	KP_ROLE_NAME = 0,
	KP_ROLE_REVISION = 4, /* u32 */
	KP_ROLE_BITS = 8,     /* u8 enum kp_role_bit */
	KP_ROLE_RECORD = 12,

	KP_RULE_NAME = 0,
	KP_RULE_DIM = 4,    /* text */
	KP_RULE_PRESET = 8, /* link of SCALARS */
	KP_RULE_REVISION = 12,
	KP_RULE_KIND = 16, /* u8 enum kp_scalar_kind */
	KP_RULE_BITS = 17, /* u8 enum kp_rule_bit */
	KP_RULE_RECORD = 20,

	KP_DERIVED_NAME = 0,
	KP_DERIVED_TIMES = 4, /* lists of FACTORS */
	KP_DERIVED_OVER = 8,
	KP_DERIVED_RECORD = 12,

	KP_FACTOR_NUMBER = 0, /* f64 */
	KP_FACTOR_NAME = 8,
	KP_FACTOR_RECORD = 12,

	KP_DEVICE_ID = 0,
	KP_DEVICE_VENDOR = 4,
	KP_DEVICE_NAME = 8,
	KP_DEVICE_FEATURE_LIST = 12, /* list of texts */
	KP_DEVICE_ARCH = 16,	     /* i32 major, i32 minor */
	KP_DEVICE_KIND = 24,	     /* u8 */
	KP_DEVICE_ARCH_KNOWN = 25,   /* u8 */
	KP_DEVICE_RECORD = 28,

	KP_PIN_OPERATION = 0,
	KP_PIN_CHOICE = 4,
	KP_PIN_BITS = 8,
	KP_PIN_RECORD = 12,

	KP_GUARD_OPERATION = 0,
	KP_GUARD_EVERY = 4, /* u32 */
	KP_GUARD_RECORD = 8,

	KP_SYMBOL_RECORD = 4,
	KP_WORD_RECORD = 4,
	KP_STRING_RECORD = 1,
};

enum kp_trait_bit {
	KP_TRAIT_HAS_MIN = 1,
	KP_TRAIT_HAS_MAX = 2,
	KP_TRAIT_HAS_MULTIPLE = 4,
	KP_TRAIT_REQUIRED = 8,
};
enum kp_bound_bit { KP_BOUND_MIN = 1, KP_BOUND_MAX = 2 };
enum kp_role_bit { KP_ROLE_KEY = 1, KP_ROLE_OPTIONAL = 2 };
enum kp_rule_bit { KP_RULE_INTEGER = 1, KP_RULE_ATTRIBUTE = 2 };

static inline uint32_t kp_load32(const unsigned char *at)
{
	uint32_t value;
	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static inline uint64_t kp_load64(const unsigned char *at)
{
	uint64_t value;
	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

static inline double kp_load_double(const unsigned char *at)
{
	uint64_t bits = kp_load64(at);
	double value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline void kp_store32(unsigned char *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

static inline void kp_store64(unsigned char *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
}

static inline void kp_store_double(unsigned char *at, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	kp_store64(at, bits);
}

static inline const unsigned char *kp_table_directory(
	const struct kp_table *table, enum kp_section section)
{
	return table->bytes + KP_TABLE_HEADER + KP_TABLE_DIRECTORY * (size_t)section;
}

static inline size_t kp_table_count(const struct kp_table *table, enum kp_section section)
{
	return kp_load32(kp_table_directory(table, section) + 4);
}

/* Bytes from one record of a section to the next. */
static inline size_t kp_table_stride(
	const struct kp_table *table, enum kp_section section)
{
	return kp_load32(kp_table_directory(table, section) + 8);
}

/* Is it there at all? */
static inline bool kp_table_has(const struct kp_table *table, enum kp_section section)
{
	return section < kp_load32(table->bytes + KP_HEADER_SECTIONS);
}

/* Record i of a section; i is below its count. */
static inline const unsigned char *kp_table_record(
	const struct kp_table *table, enum kp_section section, size_t i)
{
	const unsigned char *directory = kp_table_directory(table, section);
	return table->bytes + kp_load32(directory) + i * kp_load32(directory + 8);
}

static inline const char *kp_table_text(const struct kp_table *table, uint32_t offset)
{
	return (const char *)kp_table_record(table, KP_SECTION_STRINGS, 0) + offset;
}

/* NULL for none. */
static inline const char *kp_table_text_or_null(
	const struct kp_table *table, uint32_t offset)
{
	return offset ? kp_table_text(table, offset) : NULL;
}

/* A list of WORDS: `items` strides by 4. */
struct kp_list {
	const unsigned char *items;
	size_t count;
};

static inline struct kp_list kp_table_list(const struct kp_table *table, uint32_t index)
{
	const unsigned char *at = kp_table_record(table, KP_SECTION_WORDS, index);
	return (struct kp_list){at + 4, kp_load32(at)};
}

static inline uint32_t kp_list_get(struct kp_list list, size_t i)
{
	return kp_load32(list.items + 4 * i);
}

static inline bool kp_list_has(struct kp_list list, uint32_t word)
{
	for (size_t i = 0; i < list.count; i++)
		if (kp_list_get(list, i) == word)
			return true;
	return false;
}

/* Where the search for an operation's signature starts. */
static inline uint32_t kp_hash_signature(const char *operation, const char *signature)
{
	uint64_t hash = kp_hash_bytes(KP_HASH_START, operation, strlen(operation) + 1);
	hash = kp_hash_bytes(hash, signature, strlen(signature));
	return (uint32_t)(hash ^ hash >> 32);
}

extern const unsigned kp_record_sizes[KP_SECTIONS];

/* The checksum of a whole table: all bytes but its own. */
uint64_t kp_table_checksum(const void *bytes, size_t size);

#endif
