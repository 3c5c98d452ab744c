/* SPDX-License-Identifier: MIT */
/* Attributes and traits that a site names. */
#ifndef KP_LIB_HOST_NAMED_H
#define KP_LIB_HOST_NAMED_H

#include <jansson.h>

#include "lib/base/diag.h"
#include "lib/host/site.h"

/*
 * Sets the site's attributes, the family's defaults where nothing is said, and returns
 * the traits of its request, a new object. NULL with the codes unknown_trait (the nearest
 * is offered), bad_trait, too_many, no_memory.
 */
json_t *kp_named_json(struct kp_inner_site *site, const struct kp_site_options *options,
	struct kp_diag *diag);

#endif
