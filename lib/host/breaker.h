/* SPDX-License-Identifier: MIT */
/*
 * A kernel that keeps failing is left out of this process for a while, and then tried by
 * one call: a circuit breaker a kernel and device. Costs calls nothing while none fails.
 */
#ifndef KP_LIB_HOST_BREAKER_H
#define KP_LIB_HOST_BREAKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/diag.h"

struct kp_breaker;
struct kp_handle;
struct kp_inner_rung;
struct kp_inner_site;
struct kp_table;

enum {
	KP_BREAKER_FAILURES = 5,    /* in a row open it */
	KP_BREAKER_GOOD = 100,	    /* in a row end the watch */
	KP_BREAKER_FIRST_MS = 1000, /* until a call tries; doubled each time it fails */
	KP_BREAKER_MOST_MS = 60000,
};

struct kp_breakers {
	pthread_mutex_t lock;
	struct kp_breaker *first; /* only grows */
	unsigned watched;	  /* atomic: those that saw a failure not long ago */
	unsigned open;		  /* atomic */
};

void kp_breakers_init(struct kp_breakers *breakers);
void kp_breakers_finish(struct kp_breakers *breakers);

/* Is a kernel of the operation watched? Then no call of it is inline. */
bool kp_breakers_watch(struct kp_breakers *breakers, const char *operation);

/* Nothing has failed: a call need not ask them. */
static inline bool kp_breakers_rest(const struct kp_breakers *breakers)
{
	return __atomic_load_n(&breakers->open, __ATOMIC_RELAXED) == 0 &&
	       __atomic_load_n(&breakers->watched, __ATOMIC_RELAXED) == 0;
}

/* Is the kernel left out, for this thread? *why (may be NULL) says so. */
bool kp_breaker_is_open(struct kp_breakers *breakers, const struct kp_table *table,
	size_t kernel, const void *device, struct kp_diag *why);

/*
 * The breaker whose time has come, of a kernel of the site's operation: this thread's
 * next decision may choose its kernel. NULL: none, as a rule.
 */
struct kp_breaker *kp_breaker_try(struct kp_inner_site *site);

/*
 * A call of the rung has ended so; trial: what kp_breaker_try gave before. Opens, closes,
 * reports to plugind, and has sites decide anew.
 */
void kp_breaker_settle(struct kp_inner_site *site, const struct kp_inner_rung *rung,
	struct kp_breaker *trial, int status);

#endif
