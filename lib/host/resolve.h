/* SPDX-License-Identifier: MIT */
/* From a site and the dims of a call to the rung that is in force. */
#ifndef KP_LIB_HOST_RESOLVE_H
#define KP_LIB_HOST_RESOLVE_H

#include <stdint.h>

#include "lib/base/diag.h"
#include "lib/host/site.h"

/*
 * Brings the site up to `now`, a generation that was read from *site->front.now: entries
 * are decided anew. Waits for a table at most as kp_handle_sight does. *changed (may be
 * NULL) is set when a kernel that the site ran is another one.
 */
int kp_resolve_refresh(struct kp_inner_site *site, uint64_t now, bool *changed,
	struct kp_diag *diag) __attribute__((warn_unused_result));

/*
 * The rung for these dims (NULL: none is known); NULL with the codes nothing_eligible,
 * those of kp_select, no_memory. Without a lock where calls like this one were there.
 */
const struct kp_inner_rung *kp_resolve(
	struct kp_inner_site *site, const int64_t *dims, struct kp_diag *diag);

/*
 * Decides for one call of this thread alone, which tries what is left out for others;
 * nothing is kept. `instead` where that fails.
 */
const struct kp_inner_rung *kp_resolve_anew(struct kp_inner_site *site,
	const int64_t *dims, const struct kp_inner_rung *instead);

/* Is it off for this site, beyond the table? For overlays of other requests, too. */
bool kp_resolve_is_off(const struct kp_inner_site *site, const struct kp_sight *sight,
	size_t kernel, struct kp_off *off);

/*
 * Decides for these dims without looking whether it has; the site's lock is held, its
 * sight is there. Codes as above.
 */
int kp_resolve_choose(struct kp_inner_site *site, const int64_t *dims, const char *choice,
	const struct kp_inner_rung **rung, struct kp_diag *diag)
	__attribute__((warn_unused_result));

/* The request for a call with these dims, borrowed from the site, whose lock is held. */
struct kp_request *kp_resolve_request(
	struct kp_inner_site *site, const int64_t *dims, const char *choice);

#endif
