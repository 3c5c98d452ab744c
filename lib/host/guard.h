/* SPDX-License-Identifier: MIT */
/*
 * One call in so many is computed again by the family's reference, in part and on
 * copies, and compared. The call's own result is not touched.
 */
#ifndef KP_LIB_HOST_GUARD_H
#define KP_LIB_HOST_GUARD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kplug/host.h"
#include "lib/base/diag.h"

struct kp_guarded;
struct kp_inner_rung;
struct kp_inner_site;
struct kp_suspect;

/* Of a site. */
struct kp_guard {
	uint32_t own;		  /* what its options said; 0: as the operator says */
	uint32_t every;		  /* atomic: 0: no call is guarded */
	uint64_t calls, compared; /* atomic */
	uint64_t seed;
	/* Under the site's lock: */
	bool is_sought;			       /* the reference, by what is decided now */
	const struct kp_inner_rung *reference; /* NULL: problem says why there is none */
	struct kp_diag problem;		       /* code NULL: there is none */
	const char *said;		       /* the code that was logged last */
	struct kp_suspect *suspects;	       /* kernels that were found wrong */
};

/* Of a site that is being made. */
void kp_guard_init(struct kp_inner_site *site, const struct kp_site_options *options);
/* Says what is not told yet, and ends. */
void kp_guard_finish(struct kp_inner_site *site);

/* The site is being decided anew, its lock is held: what the operator says now. */
void kp_guard_follow(struct kp_inner_site *site);

/* Is this call one of those? Exactly one of each `every` calls is, wherever in them. */
static inline bool kp_guard_is_on(const struct kp_guard *guard)
{
	return __atomic_load_n(&guard->every, __ATOMIC_RELAXED) > 0;
}
bool kp_guard_is_due(struct kp_guard *guard);

/*
 * Before a call that is due: NULL where it cannot be compared, which is logged once.
 * After it, with its status. Neither changes the call.
 */
struct kp_guarded *kp_guard_begin(struct kp_inner_site *site,
	const struct kp_inner_rung *rung, const struct kp_call *call);
void kp_guard_end(struct kp_guarded *guarded, int status);

/*
 * Adds to what a site says of itself: "guard", one call in so many or null, and where
 * there is one "guarding": {"reference", "problem", "compared"}. Takes the lock. -1:
 * memory.
 */
int kp_guard_tell(struct kp_inner_site *site, json_t *reply);

#endif
