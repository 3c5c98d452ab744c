/* SPDX-License-Identifier: MIT */
/* A site from the inside: what was said of it, and what it has found. */
#ifndef KP_LIB_HOST_SITE_H
#define KP_LIB_HOST_SITE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kplug/host.h"
#include "lib/host/check.h"
#include "lib/host/guard.h"
#include "lib/host/handle.h"
#include "lib/host/ladder.h"
#include "lib/host/rung.h"
#include "lib/select/select.h"

enum { KP_SITE_ATTRIBUTES = 32, KP_ENTRIES = 32 };
/* A generation that is none: decide again; of kp_site.seen: go the whole way. */
#define KP_SITE_TOUCHED UINT64_MAX

/* Which rung a mask of dims means, under an override by a thread's scope or none. */
struct kp_entry_of {
	const struct kp_ladder *ladder; /* that the mask is of */
	uint64_t mask;
	const char *choice;
	const struct kp_inner_rung *rung; /* NULL: nothing is eligible; see `used` */
	bool used;
	int64_t dims[KP_FAMILY_DIMS]; /* of the first such call */
};

struct kp_inner_site {
	struct kp_site front; /* first */
	struct kp_handle *handle;
	struct kp_inner_site *next, **link; /* under sites_lock */
	char *label;			    /* "" where there is none */
	char *environment;		    /* the variable's override, or NULL */
	uint32_t flags;
	struct kp_guard guard;
	struct kp_open_device *device;
	const struct kp_contract *contract;
	union kp_value attributes[KP_SITE_ATTRIBUTES];
	uint32_t n_attributes;
	int64_t least[KP_FAMILY_DIMS], most[KP_FAMILY_DIMS];
	bool has_range[KP_FAMILY_DIMS], has_ranges;
	struct kp_signature signature; /* of a described operation */
	struct kp_check check;
	uint64_t decided; /* atomic: the generation that entries are of */
	unsigned touched; /* atomic: grows */

	pthread_mutex_t lock;
	struct kp_request request; /* what does not vary */
	struct kp_sight *sight;	   /* that it was decided by */
	const char *scope;	   /* of the handle, in force when it was decided */
	struct kp_overlay overlay;
	bool *stable_out; /* a stable site: kernels that do not fit the whole range */
	size_t n_stable;
	struct kp_ladder *ladder;  /* atomic: of that sight */
	struct kp_ladder *ladders; /* all that there were; each is kept */
	struct kp_inner_rung *rungs;
	const struct kp_inner_rung *only; /* atomic: of every call; NULL: of entries */
	unsigned sequence;		  /* atomic: odd while entries are written */
	unsigned n_entries;
	struct kp_entry_of entries[KP_ENTRIES];
	bool thread_scopes; /* atomic: some thread has a scope for the operation */
};

/*
 * It decides again at its next call. Any thread, without a lock: whoever decides
 * meanwhile sees that `touched` has grown.
 */
static inline void kp_site_touch(struct kp_inner_site *site)
{
	__atomic_add_fetch(&site->touched, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&site->decided, KP_SITE_TOUCHED, __ATOMIC_SEQ_CST);
	__atomic_store_n(&site->front.seen, KP_SITE_TOUCHED, __ATOMIC_SEQ_CST);
}

/* Nobody has the operation: -1, saying so, and which one may have been meant. */
int kp_site_unknown(const struct kp_sight *sight, const char *operation,
	struct kp_diag *diag) __attribute__((warn_unused_result));

static inline struct kp_inner_site *kp_site_inner(struct kp_site *site)
{
	return (struct kp_inner_site *)site;
}

#endif
