/* SPDX-License-Identifier: MIT */
/* The whole range of a site: a sample of every mask, and kernels that fit all of them. */
#ifndef KP_LIB_HOST_STABLE_H
#define KP_LIB_HOST_STABLE_H

#include "lib/base/diag.h"
#include "lib/host/site.h"

enum { KP_RANGE_MOST = 4096 };

/*
 * Goes through extents of all dims in which every mask shows that the range can have, as
 * far as KP_RANGE_MOST shapes of them go. For a site that has a ladder:
 * struct kp_range_walk walk; kp_range_walk_init(&walk, site);
 * while (kp_range_walk_next(&walk)) walk.dims ...
 */
struct kp_range_walk {
	size_t n_dims, done;
	size_t counts[KP_FAMILY_DIMS], at[KP_FAMILY_DIMS];
	int64_t *points[KP_FAMILY_DIMS];
	int64_t dims[KP_FAMILY_DIMS];
};
/* False: memory. */
bool kp_range_walk_init(struct kp_range_walk *walk, const struct kp_inner_site *site);
bool kp_range_walk_next(struct kp_range_walk *walk);
void kp_range_walk_finish(struct kp_range_walk *walk);

/*
 * With KP_SITE_STABLE: which kernels do not fit everywhere, into site->stable_out; with
 * the site's lock held.
 */
int kp_stable_find(struct kp_inner_site *site, struct kp_diag *diag)
	__attribute__((warn_unused_result));

#endif
