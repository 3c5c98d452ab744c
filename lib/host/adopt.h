/* SPDX-License-Identifier: MIT */
/* The table that a site decides by, and the predicates of its kernels. */
#ifndef KP_LIB_HOST_ADOPT_H
#define KP_LIB_HOST_ADOPT_H

#include "lib/base/diag.h"
#include "lib/host/site.h"

/*
 * Takes up the newest table, under the site's lock. Waits for one at most as
 * kp_handle_sight does; not where the site runs what must stop at once. Codes of
 * kp_handle_sight, of kp_ladder_new and of kp_stable_find.
 */
int kp_adopt_newest(struct kp_inner_site *site, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/*
 * For a site that is being made: what its first call would have to find out of this
 * table. Codes of kp_ladder_new.
 */
int kp_adopt_first(struct kp_inner_site *site, struct kp_sight *sight,
	struct kp_diag *diag) __attribute__((warn_unused_result));

#endif
