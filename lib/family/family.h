/* SPDX-License-Identifier: MIT */
/*
 * Families: the contract of an operation as data, one file FAMILY.MODE.json by
 * lib/schemas/family.json. The table, the bench, the verifier and the checks of
 * arguments all read it from here. Knows no kernel.
 *
 * {
 *  "operation": "gemm/mm", "revision": 1, "description": "C = A B",
 *  "dims": ["m", "n", "k"], "aliases": {"rows": "m"}, "defaults": {"n": "k"},
 *  "roles": [{"name": "a", "direction": "in", "dims": ["m", "k"], "key": true,
 *             "formats": ["f32", "bf16"], "space": "device", "optional": false,
 *             "revision": 1, "repeat": null, "alias": null, "interleave": false,
 *             "fill": {"kind": "normal"}, "bytes": [["m", "k"]], "distinct": null}],
 *  "attributes": [{"name": "scale", "type": "float", "default": 1.0, "revision": 1}],
 *  "derived": {"rows": {"times": ["tokens", "top_k"], "over": ["experts"]}},
 *  "traits": {"causal": {"kind": "bool", "default": false, "revision": 1},
 *             "head_dim": {"kind": "int", "dim": "d"}},
 *  "work": {"flops": [[2, "m", "n", "k"]]},
 *  "signature": "a=f32,b=f32,c=f32",
 *  "shapes": {"default": [{"m": 256, "n": 256, "k": 256}], "edge": [{"m": 1, ...}]},
 *  "independent": ["m"],
 *  "check": {"kind": "norm", "tolerance": {"f32": 1e-5, "bf16": 1e-2}},
 *  "empty": {"c": 0},
 *  "reference": "reference/gemm_mm"
 * }
 *
 * A term is a product: numbers and names of dims or derived values; a list of
 * terms is their sum. A dim may be a number ("dims": ["b", 2]). Only members
 * shown with a true choice are required: operation, revision, dims, roles,
 * check.
 *
 * A shape may call a dim by an alias. A dim that it says nothing of is that of another
 * dim, or the number, that "defaults" names, where there is one; of several that follow
 * from each other the first in the order of dims comes first.
 *
 * A trait's kind is int, number, bool or text; an attribute's type is int, float
 * or bool; of a derived value "over" may be absent (1). A dim that no role has
 * (the number of cached tokens) is given by the request like any other: a fill
 * that it governs makes data for which the work terms are exact.
 *
 * A derived value is made of dims and numbers. An input of floating-point numbers
 * without a fill is normal; one of integers must have a fill. Every shape gives
 * every dim. A tolerance is needed for each dtype that an output may have. A check
 * of distributions is refused: kplug has none.
 *
 * "distinct" and "bytes" count elements; distinct is how many of them are really
 * touched when the contents of another role decide it.
 *
 * Check "norm": |result - reference| <= tolerance * |reference| in the Euclidean
 * norm over the whole output, and no element off by more than 8 tolerances of the
 * largest; not-a-number or infinity is always wrong. See lib/family/compare.h.
 */
#ifndef KP_LIB_FAMILY_H
#define KP_LIB_FAMILY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/diag.h"
#include "lib/family/format.h"
#include "lib/family/trait.h"
#include "lib/plugin/spec.h"

struct kp_arena;

enum { KP_FAMILY_ROLES = 32, KP_FAMILY_DIMS = 32, KP_FAMILY_RANK = 8 };

enum kp_direction { KP_IN, KP_OUT, KP_INOUT };
enum kp_space { KP_SPACE_DEVICE, KP_SPACE_HOST, KP_SPACE_EITHER };

/* One factor of a product, or one dim of a role: a name, or a number where NULL. */
struct kp_factor {
	const char *name;
	double number;
};
struct kp_term {
	size_t count;
	const struct kp_factor *factors;
};
struct kp_terms {
	size_t count;
	const struct kp_term *items;
};

/*
 * How an input is filled for bench and verify. kinds: normal (standard normal
 * times scale), uniform [min, max), constant, lens (integers in [min, max]; with
 * total their sum is exactly that), pages (distinct numbers in [0, below)),
 * indptr (non-decreasing from 0 to total), ids (integers in [0, below)), zero.
 * min, max, total and below are a number or name a dim or derived value.
 * Parameters stay JSON: see lib/family/fill.h.
 */
struct kp_fill {
	const char *kind;
	const json_t *parameters; /* the whole object; borrowed */
};

struct kp_role {
	const char *name;
	enum kp_direction direction;
	enum kp_space space;
	bool optional, key, interleave;
	unsigned revision;  /* of the family that brought it */
	const char *repeat; /* dim that says how often, or NULL */
	const char *alias;  /* role that may be the same memory, or NULL */
	size_t rank;
	const struct kp_factor *dims;
	struct kp_strings formats; /* canonical */
	struct kp_fill fill;
	struct kp_terms bytes;	  /* elements that are moved; none: all of them */
	struct kp_terms distinct; /* elements really touched; none: as bytes says */
};

enum kp_attribute_type { KP_ATTRIBUTE_INT, KP_ATTRIBUTE_FLOAT, KP_ATTRIBUTE_BOOL };
struct kp_attribute {
	const char *name;
	enum kp_attribute_type type;
	double preset; /* the default */
	unsigned revision;
};

/* The product of `times` over the product of `over`; a real number. */
struct kp_derived {
	const char *name;
	struct kp_term times, over;
};

/* What a request may say: value kind, default, or the dim that gives it. */
struct kp_trait_rule {
	const char *name;
	enum kp_scalar_kind kind;
	bool integer; /* kind "int": a fraction is refused */
	bool has_preset;
	struct kp_scalar preset;
	const char *dim; /* the value is this dim's or derived value's, or NULL */
	unsigned revision;
};

enum kp_check_kind { KP_CHECK_NORM, KP_CHECK_EXACT, KP_CHECK_SET, KP_CHECK_DISTRIBUTION };

struct kp_family {
	json_t *root;		 /* owns the strings */
	struct kp_arena *memory; /* owns the arrays */
	const char *operation, *description;
	unsigned revision;
	struct kp_strings dims;
	const json_t *aliases;	/* another name -> dim; borrowed, or NULL */
	const json_t *defaults; /* dim -> dim or number; borrowed, or NULL */
	size_t n_roles, n_attributes, n_derived, n_traits;
	const struct kp_role *roles;
	const struct kp_attribute *attributes;
	const struct kp_derived *derived;
	const struct kp_trait_rule *traits;
	struct kp_terms flops;
	const char *signature; /* canonical default, or NULL */
	const json_t *shapes;  /* {"default": [...], "edge": [...]}; borrowed */
	struct kp_strings independent;
	enum kp_check_kind check;
	const json_t *tolerance; /* by dtype of the output; borrowed */
	const json_t *empty;	 /* role -> value of an empty reduction; borrowed */
	const char *reference;	 /* plugin/kernel, or NULL */
	char digest[17];	 /* of the text */
};

struct kp_families {
	size_t count;
	struct kp_family *items; /* in byte order of operation */
};

/* Named extents. Zero it first. */
struct kp_shape {
	size_t count;
	struct {
		const char *name; /* borrowed */
		int64_t extent;
	} dims[KP_FAMILY_DIMS];
};

/*
 * Codes of kp_json_parse and kp_json_check, unknown_dim, bad_family, too_many;
 * the object is the path; file, line and column are its place.
 */
int kp_family_parse(const char *text, size_t size, const char *path,
	struct kp_family *family, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * Reads every *.json of the directory. A wrong file is added to `problems` and
 * left out; a missing directory is a problem, too. Fails when memory is
 * exhausted.
 */
int kp_families_read(const char *dir, struct kp_families *families,
	struct kp_diags *problems) __attribute__((warn_unused_result));

const struct kp_family *kp_families_find(
	const struct kp_families *families, const char *operation);
/* The operation that may have been meant by one that nobody describes, or NULL. */
const char *kp_families_nearest(
	const struct kp_families *families, const char *operation);
void kp_family_finish(struct kp_family *family);
void kp_families_finish(struct kp_families *families);

const struct kp_role *kp_family_role(const struct kp_family *family, const char *name);
const struct kp_trait_rule *kp_family_trait(
	const struct kp_family *family, const char *name);

/* Extent of a dim in a shape, or -1. */
int64_t kp_shape_get(const struct kp_shape *shape, const char *name);
/* Sets or replaces; false when full. */
bool kp_shape_set(struct kp_shape *shape, const char *name, int64_t extent);
/*
 * Reads {"m": 64}: names must be dims of the family (may be NULL: any) or their aliases,
 * extents 0 to 2^40; then adds what the family's defaults say of the others. Codes
 * unknown_dim (nearest offered), repeated_dim (by name and alias), bad_extent,
 * wrong_type.
 */
int kp_shape_from_json(const json_t *value, const struct kp_family *family,
	struct kp_shape *shape, struct kp_diag *diag) __attribute__((warn_unused_result));

/* {"m": 64}, by the names of dims. A new reference, NULL when memory is exhausted. */
json_t *kp_shape_json(const struct kp_shape *shape);

/*
 * The value of a dim or derived value; false when a dim that it needs is not in
 * the shape (or a division by 0).
 */
bool kp_family_value(const struct kp_family *family, const struct kp_shape *shape,
	const char *name, double *value);
/* The sum of products; 0 when a dim is missing. */
double kp_family_work(const struct kp_family *family, const struct kp_shape *shape,
	const struct kp_terms *terms);

/*
 * The format that a role has by a signature; one that is not optional and not named has
 * its first. False: it is left out.
 */
bool kp_family_format(const struct kp_role *role, const struct kp_signature *signature,
	struct kp_format *format);

/* The elements of a role that a call touches: distinct, else bytes, else all. */
double kp_family_touched(const struct kp_family *family, const struct kp_shape *shape,
	const struct kp_role *role);

/*
 * Checks a signature against the family: every key role named that is not optional
 * (absent is code missing_role), no unknown one (unknown_role, nearest offered), formats
 * allowed (format_not_allowed). The object is the role.
 */
int kp_family_check_signature(const struct kp_family *family,
	const struct kp_signature *signature, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
