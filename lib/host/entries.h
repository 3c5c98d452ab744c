/* SPDX-License-Identifier: MIT */
/*
 * What a site has decided, by the masks of calls: found without a lock, written under the
 * site's.
 */
#ifndef KP_LIB_HOST_ENTRIES_H
#define KP_LIB_HOST_ENTRIES_H

#include "lib/host/site.h"

/* What calls have in common that run one kernel. */
struct kp_entry_key {
	const struct kp_ladder *ladder;
	uint64_t mask;
	const char *choice;
};

void kp_entries_clear(struct kp_inner_site *site);
/* dims (may be NULL): of the call that it was decided for. */
void kp_entries_add(struct kp_inner_site *site, const struct kp_entry_key *key,
	const int64_t *dims, const struct kp_inner_rung *rung);
/* NULL: not there, or being written. */
const struct kp_inner_rung *kp_entries_find(
	const struct kp_inner_site *site, const struct kp_entry_key *key);

#endif
