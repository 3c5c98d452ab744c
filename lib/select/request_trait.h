/* SPDX-License-Identifier: MIT */
/* The traits of a request in JSON: values by the kinds that the family gives them. */
#ifndef KP_LIB_REQUEST_TRAIT_H
#define KP_LIB_REQUEST_TRAIT_H

#include <jansson.h>

#include "lib/select/query.h"
#include "lib/select/select.h"

/*
 * {"head_dim": 128, "page": [16, 32], "causal": "true"}: a value or a set. `traits`
 * may be NULL. Strings are borrowed. Codes unknown_trait, bad_trait, too_many,
 * wrong_type.
 */
int kp_request_traits(const struct kp_table *table, const unsigned char *family,
	const json_t *traits, struct kp_request *request, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
