/* SPDX-License-Identifier: MIT */
/*
 * Selection: a pure function from a table and a request to a decision, and the
 * same predicates evaluated for every kernel. See "Selection" in man/DESIGN.md;
 * the codes of exclusions are listed in lib/select/predicate.h.
 */
#ifndef KP_LIB_SELECT_H
#define KP_LIB_SELECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/diag.h"
#include "lib/family/family.h"
#include "lib/platform/platform.h"
#include "lib/registry/decisions.h"
#include "lib/table/table.h"

enum kp_objective {
	KP_OBJECTIVE_DEFAULT,
	KP_OBJECTIVE_LATENCY,
	KP_OBJECTIVE_THROUGHPUT,
	KP_OBJECTIVE_PORTABILITY,
	KP_OBJECTIVE_DETERMINISM,
	KP_OBJECTIVE_DEBUG,
	KP_OBJECTIVES
};
/* Who asks for an override, strongest first. */
enum kp_override_source {
	KP_OVERRIDE_ARGUMENT,
	KP_OVERRIDE_SCOPE,
	KP_OVERRIDE_ENVIRONMENT,
	KP_OVERRIDE_PIN,
	KP_OVERRIDES
};

struct kp_asked_trait {
	const char *name;
	size_t count; /* 1, or a set */
	struct kp_scalar values[16];
};

/*
 * What the asking process knows beyond the table: kernels that are off for it. is_off
 * says so, and why where `off` is not NULL: code and source are static.
 */
struct kp_off {
	const char *code, *source;
	char message[256];
};
struct kp_overlay {
	void *context;
	bool (*is_off)(void *context, const struct kp_table *table, size_t kernel,
		struct kp_off *off);
};

/* Zero it, then fill; or kp_request_from_json. Strings are borrowed. */
struct kp_request {
	const char *operation;
	const char *signature; /* canonical; NULL: the family's default */
	bool any_signature;    /* `kernels`: do not compare it */
	struct kp_shape shape;
	size_t n_traits;
	struct kp_asked_trait traits[32];
	size_t n_features;
	const char *features[32];
	const char *solution, *device, *layout, *label;
	enum kp_objective objective;
	const char *overrides[KP_OVERRIDES]; /* [PIN] is read from the table */
	bool force;
	const struct kp_platform *on; /* NULL: the table's own devices */
	size_t n_without;
	const char *without[32];
	const struct kp_overlay *overlay; /* or NULL */
	/* owned by requests that were read from JSON */
	json_t *root;
	struct kp_platform *platform;
	char canonical[KP_SIGNATURE_BYTES];
};

struct kp_rank {
	int policy, objective, priority;
};

/*
 * What was decided. Indexes are kernels of the table; SIZE_MAX is none. Strings
 * are those of the table and request.
 */
struct kp_decision {
	size_t selected;
	struct kp_rank rank;
	const char *signature; /* that was used, NULL with any_signature */
	const char *device;    /* id of the device that passed */
	bool overridden;
	enum kp_override_source source;
	const char *override_value;
	size_t n_ignored;
	struct {
		const char *value;
		enum kp_override_source source;
		const char *code; /* NULL: a stronger one was present */
		char message[256];
	} ignored[KP_OVERRIDES];
	size_t fallback_from; /* ranked higher and off: disabled, failed, refused, ... */
	bool equal_rank;      /* with the next one */
	size_t equal;	      /* that one */
	struct kp_diags warnings;
};

/*
 * Reads the Request of the interface. The table gives the family's rules: a
 * text for an int trait is parsed, an unknown trait is an error with the
 * nearest name where the family is known. Codes: unknown_operation,
 * bad_signature, missing_role, unknown_role, unknown_trait, bad_trait,
 * unknown_dim, bad_extent, unknown_objective, unknown_device, unknown_platform,
 * wrong_type, unknown_key, missing_key, too_many.
 */
int kp_request_from_json(const struct kp_table *table, const json_t *value,
	struct kp_request *request, struct kp_diag *diag)
	__attribute__((warn_unused_result));
void kp_request_finish(struct kp_request *request);

/*
 * The decision for a request. Returns 0 also when nothing is eligible (selected
 * is SIZE_MAX). -1: override_ineligible (the message has the first predicate),
 * no_such_kernel for an override that names nothing, ambiguous_name,
 * missing_role, no_signature (no default and none given), no_memory.
 */
int kp_select(const struct kp_table *table, const struct kp_request *request,
	struct kp_decision *decision, struct kp_diag *diag)
	__attribute__((warn_unused_result));
void kp_decision_finish(struct kp_decision *decision);

/* The reply of Select without `pending`; a new reference. */
json_t *kp_decision_json(const struct kp_table *table, const struct kp_request *request,
	const struct kp_decision *decision);

/*
 * The Candidates of every kernel of the operation, eligible ones first in
 * order of rank, then the others; a new array. For override_ineligible: the
 * exclusions of the kernel that the request's override means, however it is named,
 * none when it means no one kernel.
 */
json_t *kp_explain_json(const struct kp_table *table, const struct kp_request *request);
json_t *kp_override_reasons_json(
	const struct kp_table *table, const struct kp_request *request);

/*
 * What a pin comes to for requests that its choice's signatures fit: applies, selected,
 * reasons (Exclusions of the kernel it means; empty when it applies). A new object.
 */
json_t *kp_pin_json(const struct kp_table *table, const struct kp_pin *pin);

const char *kp_objective_name(enum kp_objective objective);
const char *kp_override_source_name(enum kp_override_source source);

/*
 * The operations of the table and of its families, sorted; for lists and for
 * "did you mean". NULL-terminated, one allocation, the caller's to free.
 */
const char **kp_table_operations(const struct kp_table *table);

#endif
