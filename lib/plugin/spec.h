/* SPDX-License-Identifier: MIT */
/*
 * What a kernel says of itself: the decoded form that the note is read into,
 * that the table is written from, and that a record of the table is read back
 * into. Strings and arrays are borrowed from where it was decoded.
 */
#ifndef KP_LIB_SPEC_H
#define KP_LIB_SPEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/family/trait.h"

enum { KP_PRIORITY_END = 20, KP_PLUGIN_KERNELS = 16384 };

enum kp_device_kind { KP_ANY_DEVICE, KP_CPU, KP_GPU };

const char *kp_device_kind_name(enum kp_device_kind kind); /* "any", "cpu", "gpu" */
bool kp_device_kind_parse(const char *name, enum kp_device_kind *kind);

/* Compute capability 9.0; for a CPU the level of x86-64-vN as N.0. */
struct kp_arch {
	bool known; /* in a capability: is there a bound? */
	int32_t major, minor;
};

/* Bits of kp_spec.flags; the names in notes are the lower-case ends. */
enum kp_flag {
	KP_FLAG_CAPTURABLE = 1 << 0,
	KP_FLAG_SYNCS = 1 << 1,
	KP_FLAG_HOST_READS = 1 << 2,
	KP_FLAG_REENTRANT = 1 << 3,
	KP_FLAG_DETERMINISTIC = 1 << 4,
	KP_FLAG_BATCH_INVARIANT = 1 << 5,
	KP_FLAG_UNPROVEN = 1 << 6,
};

struct kp_strings {
	size_t count;
	const char *const *items;
};

struct kp_capability {
	enum kp_device_kind device;
	struct kp_strings vendors;	   /* none: any */
	struct kp_arch min_arch, max_arch; /* max belongs to the range */
	struct kp_strings features;
};

struct kp_spec {
	const char *name;
	const char *operation;
	const char *solution; /* NULL: none */
	unsigned revision;    /* of the family it was written for, from 1 */
	int priority;
	unsigned flags;
	struct kp_strings signatures; /* canonical texts */
	struct kp_capability capability;
	struct kp_strings tags, features, needs, layouts;
	size_t n_traits;
	const struct kp_trait *traits;
};

/* "reference", "portable", "performant", "specialized", "plugin", else "-". */
const char *kp_priority_band(int priority);

const char *kp_flag_name(unsigned bit); /* NULL: no such bit */

/* "9.0". Returns `text`. */
const char *kp_arch_print(const struct kp_arch *arch, char *text, size_t size);
/* Code bad_arch. "9.0", "10" is 10.0. */
int kp_arch_parse(const char *text, struct kp_arch *arch, struct kp_diag *diag)
	__attribute__((warn_unused_result));
int kp_arch_compare(const struct kp_arch *a, const struct kp_arch *b);

/*
 * The signature of a kernel in which the role has this dtype, borrowed from the
 * spec. Codes no_signature, ambiguous_signature (two are named), bad_signature.
 */
int kp_spec_signature(const struct kp_spec *spec, const char *role, const char *dtype,
	const char **signature, struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * The Kernel of the interface: id is `plugin`/name; state and reason_* may be
 * NULL. A new reference, NULL when memory is exhausted.
 */
json_t *kp_spec_json(const struct kp_spec *spec, const char *plugin, const char *state,
	const char *reason_code, const char *reason_message);

#endif
