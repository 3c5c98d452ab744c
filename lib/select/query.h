/* SPDX-License-Identifier: MIT */
/*
 * A request as numbers: names looked up once in the table, values of traits from
 * the request, its shape and the family's defaults, so that looking at a kernel
 * compares integers only.
 */
#ifndef KP_LIB_QUERY_H
#define KP_LIB_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/select/select.h"
#include "lib/table/table_read.h"

enum {
	KP_QUERY_TRAITS = 160,
	KP_QUERY_VALUES = 32 * 16 + KP_QUERY_TRAITS,
	KP_QUERY_WITHOUT = 32,
};

/* text is a symbol of the table, 0 for one that nothing there has. */
struct kp_query_value {
	double number;
	uint32_t text;
	enum kp_scalar_kind kind;
	const char *string; /* for people */
};

enum kp_query_origin { KP_FROM_REQUEST, KP_FROM_SHAPE, KP_FROM_FAMILY };

/* Values [first, first + count) of one trait, dim, derived value or attribute. */
struct kp_query_trait {
	uint32_t name; /* symbol, or 0: no kernel and no family has it */
	const char *text;
	const unsigned char *rule; /* in RULES, or NULL */
	size_t first, count;
	enum kp_query_origin origin;
	bool deviates; /* from the family's default */
};

/* A device of the table, or of request->on. vendor and features are symbols. */
struct kp_query_device {
	enum kp_device_kind kind;
	uint32_t vendor;
	struct kp_arch arch;
	struct kp_list features;
	const char *id, *vendor_text;
};

struct kp_query {
	const struct kp_table *table;
	const struct kp_request *request;
	size_t operation;
	const unsigned char *family; /* NULL: undescribed */
	const char *signature; /* as asked, or the family's; NULL with any_signature */
	const char *key_signature; /* only its key roles */
	size_t entry;		   /* in SIGNATURES, or SIZE_MAX */
	uint32_t entry_text;	   /* its text, or 0 */
	const char
		*late_role; /* the role of the latest revision that is asked, or NULL */
	unsigned late_revision;
	uint32_t solution, layout; /* symbols; asked for when the request has one */
	uint32_t features[32];
	size_t n_traits, n_values, n_devices, n_without;
	struct kp_query_trait traits[KP_QUERY_TRAITS];
	struct kp_query_value values[KP_QUERY_VALUES];
	struct kp_query_device devices[KP_PLATFORM_DEVICES];
	/* Left out: a plugin, or one kernel of it (SIZE_MAX: all). */
	struct {
		size_t plugin, kernel;
		const char *name;
	} without[KP_QUERY_WITHOUT];
	size_t n_unknown_without; /* names among `without` that name nothing */
	char buffer[KP_SIGNATURE_BYTES];
	unsigned char on_features[KP_PLATFORM_DEVICES * KP_DEVICE_FEATURES * 4];
};

/*
 * For one answer; the caller frees it with free(). It is too large for the stacks of
 * applications' threads, and borrows table and request. NULL with the codes
 * unknown_operation, no_signature, missing_role, unknown_role, unknown_trait,
 * unknown_device, too_many, no_memory.
 */
struct kp_query *kp_query_new(const struct kp_table *table,
	const struct kp_request *request, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Parts of it, a file each. */
int kp_query_signature(struct kp_query *query, struct kp_diag *diag);
int kp_query_values(struct kp_query *query, struct kp_diag *diag);
int kp_query_devices(struct kp_query *query, struct kp_diag *diag);

/* The rule of a name, its symbol given; NULL when the family has none. */
const unsigned char *kp_query_rule(
	const struct kp_table *table, const unsigned char *family, const char *name);
/* Is it a dim of the family? */
bool kp_query_is_dim(
	const struct kp_table *table, const unsigned char *family, const char *name);
/*
 * May a request use the name as a trait: trait, attribute, dim or derived value?
 * Code unknown_trait, the nearest offered or all listed; an undescribed operation takes
 * any.
 */
int kp_query_check_trait(const struct kp_table *table, const unsigned char *family,
	const char *operation, const char *name, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* The family, which is there, has no such dim or key role: says so, and what it has. */
int kp_query_unknown_dim(const struct kp_table *table, const unsigned char *family,
	const char *operation, const char *name, struct kp_diag *diag);
int kp_query_unknown_role(const struct kp_table *table, const unsigned char *family,
	const char *operation, const char *name, struct kp_diag *diag);

static inline bool kp_query_rule_is(const unsigned char *rule, unsigned bit)
{
	return rule && rule[KP_RULE_BITS] & bit;
}

#endif
