/* SPDX-License-Identifier: MIT */
/* What select, why and bench ask for, from the command line. Knows no family. */
#ifndef CMD_REQUEST_H
#define CMD_REQUEST_H

#include <jansson.h>

#include "cmd/arguments.h"
#include "lib/base/diag.h"

/*
 * The Request of the interface from --sig, --shape, --trait, --feature,
 * --solution, --objective, --on, --without, --override and --force. Codes
 * bad_extent, bad_shape, bad_trait, bad_platform, needs_override, those of
 * kp_file_read and of kp_json_parse, no_memory.
 */
int request_build(const struct arguments *arguments, const char *operation,
	json_t **request, struct kp_diag *diag) __attribute__((warn_unused_result));

/* "m=64,n=128" into {"m": 64, "n": 128}; adds to *shape. */
int request_read_shape(const char *text, json_t *shape, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* Every --shape as "shapes"; none: no member. */
int request_add_shapes(const struct arguments *arguments, json_t *request,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* {"head_dim": 64, "causal": true, "page": [16, 32]} of every --trait. */
int request_read_traits(const struct arguments *arguments, json_t **traits,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/* Every value of the option as the array `key`; none: no member. */
int request_add_list(const struct arguments *arguments, const char *option,
	const char *key, json_t *request, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
