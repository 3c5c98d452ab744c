/* SPDX-License-Identifier: MIT */
/* Overrides for a while: of a handle, or of one thread with it. Knows no site. */
#ifndef KP_LIB_HOST_SCOPE_H
#define KP_LIB_HOST_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/diag.h"

/* Newest first. Its owner serializes. */
struct kp_scope {
	struct kp_scope *next;
	uint64_t id;
	uint64_t thread; /* kp_thread_number, 0: the handle's */
	char *operation;
	const char *choice; /* interned */
};
struct kp_scopes {
	struct kp_scope *first;
	struct kp_choice *choices; /* texts, kept to the end */
	uint64_t last;
};

/* The id, 0 for want of memory. */
uint64_t kp_scopes_begin(struct kp_scopes *scopes, const char *operation,
	const char *choice, uint64_t thread);
/* Ends it; its operation is the caller's to free. NULL: there is none of this id. */
char *kp_scopes_end(struct kp_scopes *scopes, uint64_t id);
void kp_scopes_finish(struct kp_scopes *scopes);

/* The innermost for this thread alone (0: for all of the handle); or NULL. */
const char *kp_scopes_choice(
	const struct kp_scopes *scopes, const char *operation, uint64_t thread);
/* Has any thread one for the operation? */
bool kp_scopes_has_threads(const struct kp_scopes *scopes, const char *operation);

#endif
