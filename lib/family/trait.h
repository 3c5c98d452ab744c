/* SPDX-License-Identifier: MIT */
/* Values of traits, and what a kernel accepts of them. */
#ifndef KP_LIB_TRAIT_H
#define KP_LIB_TRAIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/diag.h"

enum kp_scalar_kind { KP_SCALAR_NUMBER, KP_SCALAR_BOOL, KP_SCALAR_TEXT };

/* Integers up to 2^53 are exact. A bool is number 0 or 1. text is borrowed. */
struct kp_scalar {
	enum kp_scalar_kind kind;
	double number;
	const char *text;
};

/* What a kernel says of one trait, dim or derived value. All that is set must hold. */
struct kp_trait {
	const char *name;
	bool required; /* a request must give it */
	bool has_min, has_max, has_multiple;
	double min, max, multiple_of; /* min and max belong to the range */
	size_t n_in;		      /* 0: any value */
	const struct kp_scalar *in;
};

bool kp_scalar_equal(const struct kp_scalar *a, const struct kp_scalar *b);

/* "64", "16.5", "true", "causal". Returns `text`. */
const char *kp_scalar_print(const struct kp_scalar *scalar, char *text, size_t size);

/* "in {64, 128}", ">= 64", "multiple of 16", several joined by " and ". */
const char *kp_trait_print(const struct kp_trait *trait, char *text, size_t size);

/*
 * Is `number` a whole multiple of `of`? Never when that is not positive. Exact for
 * integers up to 2^53; beyond that nothing is. Plain arithmetic: the command-line tool
 * has no libm.
 */
bool kp_scalar_is_multiple(double number, double of);

bool kp_trait_accepts(const struct kp_trait *trait, const struct kp_scalar *value);

/* A number, boolean or string. Code wrong_type. text is borrowed from `value`. */
int kp_scalar_from_json(const json_t *value, const char *path, struct kp_scalar *scalar,
	struct kp_diag *diag) __attribute__((warn_unused_result));
json_t *kp_scalar_json(const struct kp_scalar *scalar);

/* Back to the note's form: {"in":[...],"min":..}; a new reference. */
json_t *kp_trait_json(const struct kp_trait *trait);

#endif
