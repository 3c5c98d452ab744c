/* SPDX-License-Identifier: MIT */
/* How a family is read: between the files lib/family/family*.c. */
#ifndef KP_LIB_FAMILY_BUILD_H
#define KP_LIB_FAMILY_BUILD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/json.h"
#include "lib/family/family.h"

enum { KP_FAMILY_PATH = 160, KP_FAMILY_FACTORS = 16, KP_FAMILY_ITEMS = 64 };

/* The family that is being read; its arrays live in family->memory. */
struct kp_reading {
	struct kp_family *family;
	struct kp_diag *diag;
};

/* A zeroed array that belongs to the family; NULL with no_memory in diag. */
void *kp_reading_array(struct kp_reading *reading, size_t count, size_t width);

/* "path.key", cut to KP_FAMILY_PATH. Returns `out`. */
const char *kp_reading_path(char *out, const char *path, const char *key);

/* Code bad_family: "path: what". Returns -1. */
int kp_reading_bad(struct kp_reading *reading, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* `count` of them is at most `most`: code too_many. */
int kp_reading_bounded(struct kp_reading *reading, const char *path, size_t count,
	size_t most) __attribute__((warn_unused_result));

/* Is it text that is a name (kp_text_is_name)? Codes wrong_type, bad_family. */
int kp_reading_name(struct kp_reading *reading, const json_t *value, const char *path)
	__attribute__((warn_unused_result));

/* Does the text name a dim or, with `derived`, a derived value? Code unknown_dim. */
int kp_reading_quantity(struct kp_reading *reading, const json_t *value, const char *path,
	bool derived) __attribute__((warn_unused_result));

/* revision of a part: 1 where absent, at most the family's. */
int kp_reading_revision(struct kp_reading *reading, const json_t *object,
	const char *path, unsigned *revision) __attribute__((warn_unused_result));

/* An array of distinct names of dims. */
int kp_reading_dims(struct kp_reading *reading, const json_t *list, const char *path,
	struct kp_strings *dims) __attribute__((warn_unused_result));

/* Numbers and names; without `derived` dims only. */
int kp_reading_term(struct kp_reading *reading, const json_t *list, const char *path,
	bool derived, struct kp_term *term) __attribute__((warn_unused_result));

/* A list of terms; absent or null is none. */
int kp_reading_terms(struct kp_reading *reading, const json_t *list, const char *path,
	struct kp_terms *terms) __attribute__((warn_unused_result));

/*
 * How a role is filled, its formats and direction being read. An input of
 * floating-point numbers without a fill is normal; one of integers must say.
 */
int kp_reading_fill(struct kp_reading *reading, const json_t *value, const char *path,
	struct kp_role *role) __attribute__((warn_unused_result));

/* The parts, in the order in which they need each other. */
int kp_reading_aliases(struct kp_reading *reading, const json_t *object)
	__attribute__((warn_unused_result));
int kp_reading_defaults(struct kp_reading *reading, const json_t *object)
	__attribute__((warn_unused_result));
int kp_reading_derived(struct kp_reading *reading, const json_t *object)
	__attribute__((warn_unused_result));
int kp_reading_roles(struct kp_reading *reading, const json_t *list)
	__attribute__((warn_unused_result));
int kp_reading_attributes(struct kp_reading *reading, const json_t *list)
	__attribute__((warn_unused_result));
int kp_reading_traits(struct kp_reading *reading, const json_t *object)
	__attribute__((warn_unused_result));
int kp_reading_check(struct kp_reading *reading, const json_t *object)
	__attribute__((warn_unused_result));
int kp_reading_shapes(struct kp_reading *reading, const json_t *object)
	__attribute__((warn_unused_result));

#endif
