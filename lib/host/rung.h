/* SPDX-License-Identifier: MIT */
/* A kernel that a site has run: kept until the site ends, since calls may be in it. */
#ifndef KP_LIB_HOST_RUNG_H
#define KP_LIB_HOST_RUNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kplug/host.h"
#include "lib/base/diag.h"
#include "lib/host/code.h"
#include "lib/host/sight.h"
#include "lib/table/table_read.h"

struct kp_inner_site;

/* Immutable. */
struct kp_inner_rung {
	struct kp_rung front; /* first */
	struct kp_inner_rung *next;
	const struct kp_loaded *loaded;
	unsigned flags; /* enum kp_flag */
	uint32_t number;
	char *stored;	 /* of which library */
	char digest[65]; /* of its file, or "" */
	char name[KP_KERNEL_ID_BYTES];
};

/*
 * The rung for kernel i of the sight, its code loaded for the site's device; with the
 * site's lock held. Codes of kp_code_load.
 */
int kp_rung_get(struct kp_inner_site *site, const struct kp_sight *sight, size_t kernel,
	const struct kp_inner_rung **rung, struct kp_diag *diag)
	__attribute__((warn_unused_result));
/* With the site: nobody calls any more. */
void kp_rungs_free(struct kp_inner_site *site, bool lost);

/* Does every call of it have to go the whole way? */
static inline bool kp_rung_is_slow(const struct kp_inner_rung *rung)
{
	const struct kp_kernel *functions = &rung->loaded->functions;

	return functions->need || functions->plan || !(rung->flags & KP_FLAG_REENTRANT);
}

#endif
