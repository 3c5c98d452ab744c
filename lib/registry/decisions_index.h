/* SPDX-License-Identifier: MIT */
/* Looking decisions up by the library that they are about. Owns no decision. */
#ifndef KP_LIB_DECISIONS_INDEX_H
#define KP_LIB_DECISIONS_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "lib/registry/decisions.h"

/* Zero it. Items are numbers of entries of `disabled`. */
struct kp_decisions_index {
	size_t n_digests, n_packages;
	uint32_t *by_digest, *by_package;
};

/*
 * Of these decisions, until one is added, removed or identified. -1 for memory; it is
 * empty then.
 */
int kp_decisions_index_make(struct kp_decisions_index *index,
	const struct kp_decisions *decisions) __attribute__((warn_unused_result));
void kp_decisions_index_finish(struct kp_decisions_index *index);

/*
 * The first decision on a library with this digest or package, or on a kernel of it;
 * kernel NULL: on the whole plugin. NULL when there is none.
 */
const struct kp_disabled *kp_decisions_find_library(
	const struct kp_decisions_index *index, const struct kp_decisions *decisions,
	const char *digest, const char *package, const char *kernel);

#endif
